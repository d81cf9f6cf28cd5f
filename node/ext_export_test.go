package node

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/activation"
)

// WriteActivation writes a row of a session's log by hand, as a member may that runs something else.
func (n *Node) WriteActivation(session, name string, ref extension.Ref) error {
	id, err := n.findSession(session)
	if err != nil {
		return err
	}
	return n.repo.Update(context.Background(), id, func(tx *crdt.Tx) error {
		newest, some := tx.Index(activation.IndexName).(*activation.Log).Newest()
		row := fmt.Sprintf(`{"extension_ref":%s,"kind":"activated","name":%q,"timestamp":%d}`, ref, name, crdt.After(tx.Now(), newest, some))
		_, err := tx.PutRow(activation.Store, row)
		return err
	})
}

// KeptData counts what sandboxed extensions keep for a session.
func (n *Node) KeptData(session string) (values int) {
	_ = n.loading.data.table.Under(context.Background(), session+"\x00", func(string, json.RawMessage) error { values++; return nil })
	return values
}
