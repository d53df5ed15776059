package definition_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestQuotesOfCEL: braces and quotes in a text of CEL belong to it, however it is quoted. A } stands behind each expression.
func TestQuotesOfCEL(t *testing.T) {
	for expression, want := range quotes {
		quoted, err := json.Marshal("${" + expression + "}}")
		require.NoError(t, err)
		d, err := defined(t, "{genericJob: {replicaSpecs: []}, data: {a: "+string(quoted)+"}}")
		require.NoError(t, err, expression)
		program, err := d.Compile(jobOf(t, `{name: 'a\b'}`))
		require.NoError(t, err, expression)
		require.Equal(t, want+"}", program.Data["a"], expression)
	}
}

// quotes are expressions, and what they are for a job whose spec.name is a\b.
var quotes = map[string]string{
	`job.spec.name.replace(r'\', '/')`: `a/b`,
	`job.spec.name.replace(R"\", "}")`: `a}b`,
	`"""a"b"""`:                        `a"b`,
	`'''a'}''b'''`:                     `a'}''b`,
	`r"""\"""`:                         `\`,
	`"""\""""`:                         `"`,
	`'' + "" + '\'}' + "\\"`:           `'}\`,
	`'''''' + '}'`:                     `}`,
	`string(b'}') + string(br'\')`:     `}\`,
	`r'//}' + {'r': '}'}.r`:            `//}}`,
}
