package sim

// Timeline is what a report is drawn from. Times are Unix ms; true time is what no peer can see.
type Timeline struct {
	Start int64      `json:"start"`
	End   int64      `json:"end"`
	Peers []Lane     `json:"peers"`
	Links []LinkSpan `json:"links"`
	Marks []Mark     `json:"marks"` // of the world as a whole
}

// Lane is one peer's life.
type Lane struct {
	Name    string       `json:"name"`
	Rogue   bool         `json:"rogue,omitempty"`
	Clock   []ClockPoint `json:"clock"`
	Down    []Span       `json:"down"`
	Marks   []Mark       `json:"marks"`
	Beliefs []Belief     `json:"beliefs"`
}

// ClockPoint is a reading: between two points a clock runs evenly.
type ClockPoint struct {
	True int64 `json:"true"`
	Own  int64 `json:"own"`
}

// Span is a time from From to To.
type Span struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// LinkSpan is a time in which a link between two peers, by their numbers, was not whole: "cut",
// "silent", or "one_way" (nothing arrives from A at B).
type LinkSpan struct {
	A     int    `json:"a"`
	B     int    `json:"b"`
	State string `json:"state"`
	Span
}

// Mark is something that happened.
type Mark struct {
	At   int64  `json:"at"`  // true time
	Own  int64  `json:"own"` // what the peer's clock showed
	Kind string `json:"kind"`
	Text string `json:"text,omitempty"`
	Step int    `json:"step"` // number of the step of the plan or the scenario
}

// Belief is what a peer held of a document from a time on.
type Belief struct {
	At      int64    `json:"at"`
	Doc     int      `json:"doc"`
	Active  []string `json:"active"`
	Entries int      `json:"entries"`
}
