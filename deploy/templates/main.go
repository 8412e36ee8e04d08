// The template engines inside: Go's text/template with sprig, and Spiff, compiled to WebAssembly and run by
// activities/render/template-engine.ts. They see nothing but its request: no files, no network, no environment.
//
// A call is three steps: `request(size)` gives the address at which to write the request as JSON, `render(size)` gives
// the address of the answer as JSON, `answerSize()` its length. One call at a time.
package main

import (
	"encoding/json"
	"errors"
	"runtime/debug"
	"unsafe"
)

// The module may grow to 128 MiB (see build.ts); the collector works harder before that is reached.
const softMemoryLimit = 112 << 20

var requestBuffer, answerBuffer []byte

type renderRequest struct {
	Engine   string      `json:"engine"`
	Name     string      `json:"name"`
	Template fileContent `json:"template"`
	// Of Spiff: "json" if the template is JSON and not YAML.
	Form    string          `json:"form"`
	Binding json.RawMessage `json:"binding"`
	// Of Spiff: what its state nodes held the last time.
	State json.RawMessage        `json:"state"`
	Files map[string]fileContent `json:"files"`
	// Absent where the blueprint is of no component; else the contents of its resources that were asked for so far.
	Contents map[string]fileContent `json:"contents"`
	// Absent where a template gets none; else those that were asked for so far.
	Kubeconfigs map[string]issuedKubeconfig `json:"kubeconfigs"`
	LimitBytes  int                         `json:"limitBytes"`
}

type renderAnswer struct {
	// Text of a Go template, JSON of Spiff.
	Output string          `json:"output"`
	State  json.RawMessage `json:"state,omitempty"`
	// Contents of resources that the template asks for; output and message mean nothing then.
	Wanted []contentPlace `json:"wanted,omitempty"`
	// The same of kubeconfigs.
	WantedKubeconfigs []wantedKubeconfig `json:"wantedKubeconfigs,omitempty"`
	// One of "", "request", "parse", "execute", "limit".
	Failed  string `json:"failed"`
	Message string `json:"message"`
}

func main() {}

func init() { debug.SetMemoryLimit(softMemoryLimit) }

//go:wasmexport request
func request(size uint32) unsafe.Pointer {
	requestBuffer = make([]byte, size+1)
	return unsafe.Pointer(&requestBuffer[0])
}

//go:wasmexport render
func render(size uint32) unsafe.Pointer {
	answer := renderAnswer{}
	rendered, asked, err := dispatch(requestBuffer[:size])
	requestBuffer = nil
	switch {
	// Both engines may swallow the error of a function, so that something is wanted also where they end well.
	case len(asked.Wanted)+len(asked.WantedKubeconfigs) > 0:
		answer = asked
	case err != nil:
		answer.Failed, answer.Message = failure(err)
	default:
		answer = rendered
	}
	// Strings and JSON, so it cannot fail; bytes of the message that are not UTF-8 become U+FFFD.
	answerBuffer, _ = json.Marshal(answer)
	return unsafe.Pointer(&answerBuffer[0])
}

//go:wasmexport answerSize
func answerSize() uint32 { return uint32(len(answerBuffer)) }

// A renderScope is what a template may ask for beside its files.
type renderScope struct {
	component   *componentScope
	kubeconfigs *kubeconfigScope
}

func dispatch(data []byte) (rendered, asked renderAnswer, err error) {
	var request renderRequest
	if err := json.Unmarshal(data, &request); err != nil {
		return rendered, asked, stageError{"request", err}
	}
	component, err := newComponentScope(request)
	if err != nil {
		return rendered, asked, stageError{"request", err}
	}
	scope := renderScope{component, newKubeconfigScope(request)}
	switch request.Engine {
	case "GoTemplate":
		rendered.Output, err = renderGoTemplate(request, scope)
	case "Spiff":
		rendered.Output, rendered.State, err = renderSpiff(request, scope)
	default:
		return rendered, asked, stageError{"request", errors.New("unknown engine " + request.Engine)}
	}
	asked.Wanted, asked.WantedKubeconfigs = scope.component.wantedContents(), scope.kubeconfigs.wantedKubeconfigs()
	return rendered, asked, err
}

// A stageError says which stage an error came from, because only later stages can quote values of the binding.
type stageError struct {
	stage string
	error
}

func (e stageError) Unwrap() error { return e.error }

func failure(err error) (string, string) {
	var staged stageError
	switch {
	case errors.Is(err, errOutputLimit):
		return "limit", errOutputLimit.Error()
	case errors.As(err, &staged):
		return staged.stage, err.Error()
	default:
		return "execute", err.Error()
	}
}
