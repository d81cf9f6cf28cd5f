package main

import "testing"

var talk = []entry{
	{Sender: "Bernardo", Content: "Who's there?", EntryType: "message"},
	{Sender: "Francisco", Content: "Nay, answer me.\nStand, and unfold yourself.", EntryType: "message"},
	{Sender: "Bernardo", Content: "Long live the king!", EntryType: "message"},
	{Sender: "core", Content: "{}", EntryType: "tool_call"},
}

func TestDigest(t *testing.T) {
	for who, want := range map[string]string{
		"":          "Bernardo: 2, last: Long live the king!\nFrancisco: 1, last: Nay, answer me.",
		"francisco": "Francisco: 1, last: Nay, answer me.",
		"Hamlet":    "Nobody has written anything yet.",
	} {
		if got := digest(talk, who); got != want {
			t.Errorf("digest(%q) = %q, want %q", who, got, want)
		}
	}
	if got := summary(talk); got != "Standup: 3 messages by 2 people." {
		t.Error(got)
	}
}

func TestDanger(t *testing.T) {
	if p, ok := danger(`{"command":"git push origin"}`, []string{"rm -rf", "git push"}); !ok || p != "git push" {
		t.Error(p, ok)
	}
	if p, ok := danger(`{"command":"git pull"}`, []string{"", "git push"}); ok {
		t.Error(p)
	}
}
