package definition

import (
	"errors"
	"strings"
)

// writtenPart is a part of a text as its author wrote it: either words or an expression.
type writtenPart struct {
	words, expression string
	isExpression      bool
}

// splitText splits a text at its ${expressions}. $${ stands for ${ itself.
func splitText(text string) ([]writtenPart, error) {
	var parts []writtenPart
	words := ""
	for {
		i := strings.Index(text, "${")
		if i < 0 {
			words += text
			break
		}
		if i > 0 && text[i-1] == '$' {
			words, text = words+text[:i-1]+"${", text[i+2:]
			continue
		}
		n, err := expressionLength(text[i+2:])
		if err != nil {
			return nil, err
		}
		if words += text[:i]; words != "" {
			parts = append(parts, writtenPart{words: words})
		}
		inside := text[i+2 : i+2+n]
		if strings.TrimSpace(inside) == "" {
			return nil, errors.New("${} holds no expression")
		}
		parts = append(parts, writtenPart{expression: inside, isExpression: true})
		words, text = "", text[i+2+n+1:]
	}
	if words != "" {
		parts = append(parts, writtenPart{words: words})
	}
	return parts, nil
}

// expressionLength returns that of the expression with which a text begins, up to the brace that closes it. Braces of maps, and those in texts of
// the expression, belong to it.
func expressionLength(text string) (int, error) {
	depth, quote := 0, byte(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0:
			switch c {
			case '\\':
				i++
			case quote:
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case strings.HasPrefix(text[i:], "//"): // a comment, up to the end of its line
			line, _, _ := strings.Cut(text[i:], "\n")
			i += len(line) - 1
		case c == '{':
			depth++
		case c == '}' && depth == 0:
			return i, nil
		case c == '}':
			depth--
		}
	}
	return 0, errors.New("a ${ is never closed: add }, or write $${ for the two characters")
}
