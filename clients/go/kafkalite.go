// Package kafkalite gives a test a Kafka cluster of its own, with faults, time, state and waiting.
//
// The broker is found by KAFKALITE_URL and KAFKALITE_TOKEN, or by the ready file that
// KAFKALITE_READY_FILE names. Paths are those of /v1/openapi.json below the cluster.
package kafkalite

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"testing"
)

// Fields are those of a request or of an answer.
type Fields = map[string]any

// Cluster is a cluster of one test. What it is asked for in vain ends the test.
type Cluster struct {
	Name      string `json:"name"`
	Bootstrap string `json:"bootstrap"`
	t         testing.TB
	url       string
	token     string
}

// New makes a cluster, by the fields of POST /v1/clusters, which ends with the test. A fault that
// was never applied fails the test.
func New(t testing.TB, made Fields) *Cluster {
	t.Helper()
	url, token, err := find()
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{t: t, url: url, token: token}
	if err := c.exchange("POST", "/v1/clusters", made, c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.end)
	return c
}

func find() (string, string, error) {
	if url := os.Getenv("KAFKALITE_URL"); url != "" {
		return url, os.Getenv("KAFKALITE_TOKEN"), nil
	}
	path := os.Getenv("KAFKALITE_READY_FILE")
	if path == "" {
		return "", "", errors.New(
			"no broker: run the suite by `kafkalite run -- go test`, or set KAFKALITE_READY_FILE")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", "", err
	}
	var ready struct{ Control struct{ URL, Token string } }
	err = json.Unmarshal(text, &ready)
	return ready.Control.URL, ready.Control.Token, err
}

func (c *Cluster) end() {
	var told struct{ Unfired []string }
	if err := c.exchange("GET", "/v1/clusters/"+c.Name+"/unfired-faults", nil, &told); err != nil {
		c.t.Error(err)
	}
	if len(told.Unfired) > 0 && !c.t.Failed() {
		c.t.Error(told.Unfired)
	}
	if err := c.exchange("DELETE", "/v1/clusters/"+c.Name, nil, nil); err != nil {
		c.t.Error(err)
	}
}

// Get reads into answer.
func (c *Cluster) Get(path string, answer any) { c.t.Helper(); c.ask("GET", path, nil, answer) }

// Post sends fields, which may be none, and reads into answer, which may be nil.
func (c *Cluster) Post(path string, fields Fields, answer any) {
	c.t.Helper()
	c.ask("POST", path, fields, answer)
}

// Put sends fields, which may be none, and reads into answer, which may be nil.
func (c *Cluster) Put(path string, fields Fields, answer any) {
	c.t.Helper()
	c.ask("PUT", path, fields, answer)
}

// Fault puts a fault in: Fields{"when": ..., "do": ...}.
func (c *Cluster) Fault(rule Fields) { c.t.Helper(); c.Post("/faults", rule, nil) }

// Advance moves the cluster's time on, and gives what this brought about.
func (c *Cluster) Advance(by string) Fields {
	c.t.Helper()
	var done Fields
	c.Post("/clock/advance", Fields{"by": by}, &done)
	return done
}

// Wait waits for a condition; the failure says what is missing.
func (c *Cluster) Wait(until Fields) {
	c.t.Helper()
	var waited struct {
		Met     bool
		Because string
	}
	c.Post("/wait", Fields{"until": until, "timeout": "30s"}, &waited)
	if !waited.Met {
		c.t.Fatal(waited.Because)
	}
}

func (c *Cluster) ask(method, path string, fields Fields, answer any) {
	c.t.Helper()
	if err := c.exchange(method, "/v1/clusters/"+c.Name+path, fields, answer); err != nil {
		c.t.Fatal(err)
	}
}

func (c *Cluster) exchange(method, path string, fields Fields, answer any) error {
	var body bytes.Buffer
	if fields != nil {
		if err := json.NewEncoder(&body).Encode(fields); err != nil {
			return err
		}
	}
	request, err := http.NewRequest(method, c.url+path, &body)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	if fields != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	answered, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answered.Body.Close()
	decoder := json.NewDecoder(answered.Body)
	if answered.StatusCode != http.StatusOK {
		var problem struct{ Detail string }
		_ = decoder.Decode(&problem)
		return fmt.Errorf("%s %s: %s", method, path, problem.Detail)
	}
	if answer == nil {
		return nil
	}
	return decoder.Decode(answer)
}
