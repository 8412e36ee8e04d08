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
	Engine   string `json:"engine"`
	Name     string `json:"name"`
	Template string `json:"template"`
	// Of Spiff: "json" if the template is JSON and not YAML.
	Form    string          `json:"form"`
	Binding json.RawMessage `json:"binding"`
	// Of Spiff: what its state nodes held the last time.
	State json.RawMessage   `json:"state"`
	Files map[string]string `json:"files"`
	// Absent where the blueprint is of no component; else the contents of its resources that were asked for so far.
	Contents   map[string]string `json:"contents"`
	LimitBytes int               `json:"limitBytes"`
}

type renderAnswer struct {
	// Text of a Go template, JSON of Spiff.
	Output string          `json:"output"`
	State  json.RawMessage `json:"state,omitempty"`
	// Contents of resources that the template asks for; output and message mean nothing then.
	Wanted []contentPlace `json:"wanted,omitempty"`
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
	output, state, wanted, err := dispatch(requestBuffer[:size])
	requestBuffer = nil
	switch {
	case len(wanted) > 0:
		answer.Wanted = wanted
	case err != nil:
		answer.Failed, answer.Message = failure(err)
	default:
		answer.Output, answer.State = output, state
	}
	// Strings and JSON, so it cannot fail; bytes that are not UTF-8 become U+FFFD.
	answerBuffer, _ = json.Marshal(answer)
	return unsafe.Pointer(&answerBuffer[0])
}

//go:wasmexport answerSize
func answerSize() uint32 { return uint32(len(answerBuffer)) }

// Both engines may swallow the error of a function, so that contents are wanted also where they end well.
func dispatch(data []byte) (output string, state json.RawMessage, wanted []contentPlace, err error) {
	var request renderRequest
	if err := json.Unmarshal(data, &request); err != nil {
		return "", nil, nil, stageError{"request", err}
	}
	scope, err := newComponentScope(request)
	if err != nil {
		return "", nil, nil, stageError{"request", err}
	}
	switch request.Engine {
	case "GoTemplate":
		output, err = renderGoTemplate(request, scope)
	case "Spiff":
		output, state, err = renderSpiff(request, scope)
	default:
		return "", nil, nil, stageError{"request", errors.New("unknown engine " + request.Engine)}
	}
	return output, state, scope.wantedContents(), err
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
