package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"text/template"
	"time"
)

// A kubeconfigScope is what a template may ask of clusters. It has no network: what is not there is wanted, as contents
// of resources are, and the caller gets it and renders anew. A nil one says in each function that there are none.
type kubeconfigScope struct {
	// By the key that an ask was given.
	issued map[string]issuedKubeconfig
	wanted []wantedKubeconfig
}

// A kubeconfigAsk is one call of a function; equal calls are one ask.
type kubeconfigAsk struct {
	Kind string `json:"kind"`
	// The name of the Target that leads to the cluster.
	Target string `json:"target"`
	// Of the ServiceAccount or the Shoot.
	Name              string `json:"name,omitempty"`
	Namespace         string `json:"namespace,omitempty"`
	ExpirationSeconds int64  `json:"expirationSeconds,omitempty"`
	// Of an OIDC kubeconfig.
	IssuerURL string `json:"issuerURL,omitempty"`
	ClientID  string `json:"clientID,omitempty"`
}

type wantedKubeconfig struct {
	Key string        `json:"key"`
	Ask kubeconfigAsk `json:"ask"`
}

type issuedKubeconfig struct {
	// In base64.
	Kubeconfig string `json:"kubeconfig"`
	// RFC 3339; empty if it does not expire.
	ExpiresAt string `json:"expiresAt"`
}

// As activities/landscaper/render/wanted-kubeconfigs.ts has them.
const (
	ofServiceAccount = "serviceAccount"
	ofShoot          = "shoot"
	ofOIDC           = "oidc"
)

// Source: the API server's own bounds of a TokenRequest.
const (
	leastExpirationSeconds = 600
	mostExpirationSeconds  = 1 << 32
)

var errNoKubeconfigs = errors.New("kubeconfigs are not issued for this template")

func newKubeconfigScope(wanted renderRequest) *kubeconfigScope {
	if wanted.Kubeconfigs == nil {
		return nil
	}
	return &kubeconfigScope{issued: wanted.Kubeconfigs}
}

func (s *kubeconfigScope) wantedKubeconfigs() []wantedKubeconfig {
	if s == nil {
		return nil
	}
	return s.wanted
}

func (s *kubeconfigScope) goFunctions() template.FuncMap {
	functions := template.FuncMap{}
	for name, function := range s.functions() {
		functions[name] = function
	}
	return functions
}

// functions are the same ones for both engines.
func (s *kubeconfigScope) functions() map[string]func(...any) (any, error) {
	return map[string]func(...any) (any, error){
		"getServiceAccountKubeconfig":                        s.plain(ofServiceAccount),
		"getServiceAccountKubeconfigWithExpirationTimestamp": s.withExpiration(ofServiceAccount),
		"getShootAdminKubeconfig":                            s.plain(ofShoot),
		"getShootAdminKubeconfigWithExpirationTimestamp":     s.withExpiration(ofShoot),
		"getOidcKubeconfig": func(arguments ...any) (any, error) {
			ask, err := oidcAsk(arguments)
			if err != nil {
				return nil, err
			}
			issued, err := s.get(ask)
			return issued.Kubeconfig, err
		},
	}
}

func (s *kubeconfigScope) plain(kind string) func(...any) (any, error) {
	return func(arguments ...any) (any, error) {
		issued, err := s.issue(kind, arguments)
		return issued.Kubeconfig, err
	}
}

func (s *kubeconfigScope) withExpiration(kind string) func(...any) (any, error) {
	return func(arguments ...any) (any, error) {
		issued, err := s.issue(kind, arguments)
		if err != nil {
			return nil, err
		}
		at, err := time.Parse(time.RFC3339, issued.ExpiresAt)
		if err != nil {
			return nil, errors.New("the time at which the kubeconfig expires is unknown")
		}
		return map[string]any{
			"kubeconfig":                  issued.Kubeconfig,
			"expirationTimestamp":         at.Unix(),
			"expirationTimestampReadable": at.UTC().Format(time.RFC3339),
		}, nil
	}
}

func (s *kubeconfigScope) issue(kind string, arguments []any) (issuedKubeconfig, error) {
	ask, err := tokenAsk(kind, arguments)
	if err != nil {
		return issuedKubeconfig{}, err
	}
	return s.get(ask)
}

func (s *kubeconfigScope) get(ask kubeconfigAsk) (issuedKubeconfig, error) {
	if s == nil {
		return issuedKubeconfig{}, errNoKubeconfigs
	}
	key, err := json.Marshal(ask)
	if err != nil {
		return issuedKubeconfig{}, err
	}
	if issued, isThere := s.issued[string(key)]; isThere {
		return issued, nil
	}
	s.wanted = append(s.wanted, wantedKubeconfig{string(key), ask})
	return issuedKubeconfig{}, errors.New("the kubeconfig is not there yet")
}

// tokenAsk takes name, namespace, expirationSeconds and target.
func tokenAsk(kind string, arguments []any) (kubeconfigAsk, error) {
	if len(arguments) != 4 {
		return kubeconfigAsk{}, fmt.Errorf("found %d arguments, expected name, namespace, expirationSeconds and target", len(arguments))
	}
	name, err := textArgument("name", arguments[0])
	if err != nil {
		return kubeconfigAsk{}, err
	}
	namespace, err := textArgument("namespace", arguments[1])
	if err != nil {
		return kubeconfigAsk{}, err
	}
	seconds, err := secondsArgument(arguments[2])
	if err != nil {
		return kubeconfigAsk{}, err
	}
	target, err := targetArgument(arguments[3])
	return kubeconfigAsk{Kind: kind, Target: target, Name: name, Namespace: namespace, ExpirationSeconds: seconds}, err
}

// oidcAsk takes issuerURL, clientID and target.
func oidcAsk(arguments []any) (kubeconfigAsk, error) {
	if len(arguments) != 3 {
		return kubeconfigAsk{}, fmt.Errorf("found %d arguments, expected issuerURL, clientID and target", len(arguments))
	}
	issuer, err := textArgument("issuerURL", arguments[0])
	if err != nil {
		return kubeconfigAsk{}, err
	}
	client, err := textArgument("clientID", arguments[1])
	if err != nil {
		return kubeconfigAsk{}, err
	}
	target, err := targetArgument(arguments[2])
	return kubeconfigAsk{Kind: ofOIDC, Target: target, IssuerURL: issuer, ClientID: client}, err
}

func textArgument(what string, value any) (string, error) {
	if text, isText := value.(string); isText && text != "" {
		return text, nil
	}
	return "", fmt.Errorf("argument %s: found no text, expected one", what)
}

// Numbers of a binding are floats in Go templates, those of a template whole.
func secondsArgument(value any) (int64, error) {
	seconds := math.NaN()
	switch number := value.(type) {
	case int:
		seconds = float64(number)
	case int64:
		seconds = float64(number)
	case float64:
		seconds = number
	}
	if seconds != math.Trunc(seconds) || seconds < leastExpirationSeconds || seconds > mostExpirationSeconds {
		return 0, fmt.Errorf("argument expirationSeconds: found another value, expected a whole number of at least %d", leastExpirationSeconds)
	}
	return int64(seconds), nil
}

// A Target is found by its name, in the namespace of the installation; what else a template may have written into it does not count.
func targetArgument(value any) (string, error) {
	if name := textOf(fieldsOf(fieldsOf(value)["metadata"])["name"]); name != "" {
		return name, nil
	}
	return "", errors.New("argument target: found no target, expected an imported one")
}
