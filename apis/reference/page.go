package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// page is the document so far.
type page struct {
	bytes.Buffer
	// first is where the fields of an object were listed first, by their schema: "GenericJob spec.scheduler".
	first map[string]string
	// rules are what the apiserver checks besides the limits of single fields, of the present kind.
	rules []string
}

// fewFields is how many fields are listed again rather than linked to.
const fewFields = 2

func (p *page) index(crds []crd) {
	p.WriteString("\n| kind | apiVersion | short name | fields |\n|---|---|---|---|\n")
	for _, c := range crds {
		stored, _ := c.stored()
		name := c.Spec.Names.Kind
		anchor := strings.ToLower(name)
		fmt.Fprintf(p, "| [%s](#%s) | `%s/%s` | %s | [spec](#%s-spec), [status](#%s-status), [rules](#%s-rules) |\n",
			name, anchor, c.Spec.Group, stored.Name, shortNames(c), anchor, anchor, anchor)
	}
}

func shortNames(c crd) string {
	if len(c.Spec.Names.ShortNames) == 0 {
		return ""
	}
	return "`" + strings.Join(c.Spec.Names.ShortNames, "`, `") + "`"
}

// kind describes one kind: its spec, its status and what is checked across fields.
func (p *page) kind(c crd) {
	v, others := c.stored()
	name := c.Spec.Names.Kind
	p.rules = nil
	fmt.Fprintf(p, "\n## %s\n\n%s\n\n", name, flat(v.Schema.Root.Description))
	fmt.Fprintf(p, "`kubectl get %s` shows %s", c.Spec.Names.Plural, v.columns(false))
	if wide := v.columns(true); wide != "" {
		fmt.Fprintf(p, "; with `-o wide` also %s", wide)
	}
	p.WriteString(".")
	if scale := v.Subresources.Scale; scale != nil {
		fmt.Fprintf(p, " `kubectl scale` sets `%s`.", strings.TrimPrefix(scale.Spec, "."))
	}
	if len(others) > 0 {
		fmt.Fprintf(p, " Also served as %s, with the same fields.", strings.Join(others, ", "))
	}
	p.WriteString("\n")
	root := v.Schema.Root
	p.note("", root)
	for _, part := range []string{"spec", "status"} {
		fmt.Fprintf(p, "\n### %s %s\n\n| field | type, limits | what it is |\n|---|---|---|\n", name, part)
		p.note(part, root.Properties[part])
		p.rows(name, part, root.Properties[part], part == "spec")
	}
	fmt.Fprintf(p, "\n### %s rules\n\nThe apiserver also checks:\n\n", name)
	for _, r := range p.rules {
		fmt.Fprintf(p, "- %s\n", r)
	}
}

// rows lists the fields of an object, and below each those that it has itself.
func (p *page) rows(kind, path string, s schema, user bool) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		field := s.Properties[name]
		at := path + "." + name
		what, limits := flat(field.Description), field.kindOf()
		if own, ok := kubernetes[name]; ok {
			limits = own
		}
		if user && slices.Contains(s.Required, name) {
			limits = "**required**, " + limits
		}
		if field.Default != nil {
			limits += fmt.Sprintf(", the apiserver fills in `%v`", field.Default)
		}
		inner, suffix := field.object()
		if _, ok := kubernetes[name]; ok {
			inner = schema{}
		}
		anchor, elsewhere := p.seen(kind, at, inner)
		if elsewhere != "" {
			fmt.Fprintf(p, "| `%s` | %s | %s %s |\n", at, cell(limits), cell(what), elsewhere)
			continue
		}
		fmt.Fprintf(p, "| %s`%s` | %s | %s |\n", anchor, at, cell(limits), cell(what))
		p.note(at, field)
		p.rows(kind, at+suffix, inner, user)
	}
}

// seen says where the fields of an object have been listed before; if nowhere, it is the anchor for the next who asks.
func (p *page) seen(kind, path string, s schema) (anchor, elsewhere string) {
	if len(s.Properties) <= fewFields {
		return "", ""
	}
	key, err := json.Marshal(s.Properties)
	if err != nil {
		return "", ""
	}
	id := strings.ToLower(kind) + "." + strings.ReplaceAll(path, "[]", "")
	if there, ok := p.first[string(key)]; ok {
		place, name, _ := strings.Cut(there, " ")
		return "", fmt.Sprintf("Its fields are those of [%s](#%s).", name, place)
	}
	p.first[string(key)] = id + " " + kind + " `" + path + "`"
	return `<a id="` + id + `"></a>`, ""
}

// object is the schema within lists and maps, and what its fields' paths have before their own names.
func (s schema) object() (object schema, suffix string) {
	for {
		switch {
		case s.Items != nil:
			s, suffix = *s.Items, suffix+"[]"
		case s.Values != nil:
			s, suffix = *s.Values, suffix+".*"
		default:
			return s, suffix
		}
	}
}

// note keeps what is checked of a field and its entries.
func (p *page) note(path string, s schema) {
	for _, r := range s.Rules {
		at := strings.TrimPrefix(path+r.FieldPath, ".")
		said := flat(r.Message)
		if at != "" {
			said = "`" + at + "`: " + said
		}
		if !slices.Contains(p.rules, said) {
			p.rules = append(p.rules, said)
		}
	}
	if s.Items != nil {
		p.note(path+"[]", *s.Items)
	}
	if s.Values != nil {
		p.note(path+".*", *s.Values)
	}
}

// flat is a text of several lines as one, in which nothing passes for HTML.
func flat(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "<", `\<`)
}

// cell is a text that does not end its cell of a table.
func cell(text string) string {
	return strings.ReplaceAll(text, "|", `\|`)
}
