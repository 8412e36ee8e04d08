package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/template"
)

// As the original: a partial that includes itself ends here, and so does a mutual recursion.
const includeDepthLimit = 100

var errOutputLimit = errors.New("the output is larger than allowed")

// A renderer is one request: the blueprint's files, and how deep its includes are nested right now.
type renderer struct {
	files     blueprintFiles
	scope     renderScope
	funcs     template.FuncMap
	remaining int
	depth     int
}

func renderGoTemplate(wanted renderRequest, scope renderScope) (string, error) {
	r := &renderer{files: newBlueprintFiles(wanted.Files), scope: scope, remaining: wanted.LimitBytes}
	r.funcs = templateFunctions(r)
	binding, err := decodeJSON(wanted.Binding)
	if err != nil {
		return "", stageError{"request", err}
	}
	output, err := r.render(wanted.Name, string(wanted.Template), binding)
	if err != nil {
		return "", err
	}
	return output, checkText("the output of template "+wanted.Name, output)
}

func (r *renderer) render(name, source string, binding any) (string, error) {
	parsed, err := template.New(name).Funcs(r.funcs).Option("missingkey=zero").Parse(source)
	if err != nil {
		return "", stageError{"parse", err}
	}
	output := &limitedWriter{renderer: r}
	if err := parsed.Execute(output, binding); err != nil {
		return "", err
	}
	return output.text.String(), nil
}

// include renders a file of the blueprint with its own binding.
func (r *renderer) include(path string, binding any) (string, error) {
	if r.depth >= includeDepthLimit {
		return "", fmt.Errorf("include of file %q: nested deeper than %d, expected an end of the recursion", path, includeDepthLimit)
	}
	source, err := r.files.read(path)
	if err != nil {
		return "", err
	}
	r.depth++
	defer func() { r.depth-- }()
	output, err := r.render(path, string(source), binding)
	if errors.Is(err, errOutputLimit) {
		return "", errOutputLimit
	}
	return output, err
}

// A limitedWriter stops a template that prints more than the request allows, its includes counted.
type limitedWriter struct {
	renderer *renderer
	text     strings.Builder
}

var _ io.Writer = (*limitedWriter)(nil)

func (w *limitedWriter) Write(data []byte) (int, error) {
	if len(data) > w.renderer.remaining {
		return 0, errOutputLimit
	}
	w.renderer.remaining -= len(data)
	return w.text.Write(data)
}
