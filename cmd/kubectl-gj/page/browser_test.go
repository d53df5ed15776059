package page

import (
	"image"
	"image/color"
	_ "image/png" // which it writes
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// browser returns a Chromium. The test is skipped where there is none, unless GENERICJOB_BROWSER says that there is.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("GENERICJOB_BROWSER") != "" {
		t.Fatal("there is no browser: install chromium")
	}
	t.Skip("there is no browser: install chromium")
	return ""
}

// shown returns what a browser makes of a page, in its light or its dark colours. What it says of a policy that is violated is an error.
func shown(t *testing.T, page string, dark bool) image.Image {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "page.html"), []byte(page), 0o600))
	scheme := map[bool]string{true: "0", false: "1"}[dark]
	cmd := exec.CommandContext(t.Context(), browser(t), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--window-size=1120,2200",
		"--user-data-dir="+dir, "--enable-logging=stderr", "--blink-settings=preferredColorScheme="+scheme, "--screenshot="+filepath.Join(dir, "page.png"), "file://"+filepath.Join(dir, "page.html"))
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", said)
	require.NotContains(t, string(said), "Content Security Policy")
	require.NotContains(t, string(said), "CONSOLE")
	file, err := os.Open(filepath.Join(dir, "page.png"))
	require.NoError(t, err)
	defer file.Close()
	picture, _, err := image.Decode(file)
	require.NoError(t, err)
	return picture
}

// has returns how many pixels of a picture have a colour.
func has(picture image.Image, want color.NRGBA) (n int) {
	b := picture.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			if color.NRGBAModel.Convert(picture.At(x, y)) == want {
				n++
			}
		}
	}
	return n
}

// A browser applies the style sheet, which only the policy's hash allows, in light and in dark, and runs nothing of what tenants wrote.
func TestABrowserShowsThePage(t *testing.T) {
	text := pageOf(t, night(t))
	white, black := color.NRGBA{255, 255, 255, 255}, color.NRGBA{0x0d, 0x11, 0x17, 255}
	green, paler := color.NRGBA{0x2d, 0xa4, 0x4e, 255}, color.NRGBA{0x3f, 0xb9, 0x50, 255}
	light := shown(t, text, false)
	require.Equal(t, white, color.NRGBAModel.Convert(light.At(2, 2)))
	require.Greater(t, has(light, green), 20_000, "the time of training")
	dark := shown(t, text, true)
	require.Equal(t, black, color.NRGBAModel.Convert(dark.At(2, 2)))
	require.Greater(t, has(dark, paler), 20_000)
	require.Zero(t, has(dark, green))
}
