package gitops

import (
	"context"
	"os"
	"path"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// argoCD is Argo CD with the entries of deploy/gitops/argocd.yaml. It opens only the libraries that Argo CD does, unless a user asks for more.
type argoCD map[string]struct {
	Health string `json:"health.lua"`
}

func newArgoCD(t *testing.T) argoCD {
	t.Helper()
	text, err := os.ReadFile("../../deploy/gitops/argocd.yaml")
	require.NoError(t, err)
	patch := struct {
		Data map[string]string `json:"data"`
	}{}
	require.NoError(t, yaml.UnmarshalStrict(text, &patch))
	require.Len(t, patch.Data, 1)
	entries := argoCD{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(patch.Data["resource.customizations"]), &entries))
	return entries
}

// health is what Argo CD shows of an object.
func (a argoCD) health(t *testing.T, u *unstructured.Unstructured) (is, message string) {
	t.Helper()
	script := ""
	for pattern, entry := range a {
		if matches, err := path.Match(pattern, u.GroupVersionKind().Group+"/"+u.GetKind()); err == nil && matches {
			script = entry.Health
		}
	}
	require.NotEmpty(t, script, "no entry for %s", u.GroupVersionKind())
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer l.Close()
	for name, open := range map[string]lua.LGFunction{lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		require.NoError(t, l.CallByParam(lua.P{Fn: l.NewFunction(open), Protect: true}, lua.LString(name)))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	l.SetContext(ctx)
	l.SetGlobal("obj", valueOf(l, u.Object))
	require.NoError(t, l.DoString(script))
	health, isTable := l.Get(-1).(*lua.LTable)
	require.True(t, isTable, "the script returns no table")
	is = lua.LVAsString(health.RawGetString("status"))
	require.Contains(t, []string{"Healthy", "Progressing", "Degraded", "Suspended"}, is)
	return is, lua.LVAsString(health.RawGetString("message"))
}

// valueOf is JSON in Lua.
func valueOf(l *lua.LState, v any) lua.LValue {
	switch v := v.(type) {
	case bool:
		return lua.LBool(v)
	case string:
		return lua.LString(v)
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	case []any:
		list := l.NewTable()
		for _, one := range v {
			list.Append(valueOf(l, one))
		}
		return list
	case map[string]any:
		object := l.NewTable()
		for key, one := range v {
			object.RawSetString(key, valueOf(l, one))
		}
		return object
	default:
		return lua.LNil
	}
}
