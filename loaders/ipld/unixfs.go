package ipld

import (
	"fmt"

	"github.com/ipfs/go-cid"
	"github.com/ipfs/go-unixfsnode/data"
	dagpb "github.com/ipld/go-codec-dagpb"
)

// pbLink is a link of a dag-pb node that passed the gate.
type pbLink struct {
	cid  cid.Cid
	name string
}

// pbNode is a dag-pb node that is UnixFS.
type pbNode struct {
	kind   int64   // a data.Data_… constant
	inline []byte  // bytes of a file that stand in the node itself
	size   int64   // declared bytes of the whole file
	sizes  []int64 // declared bytes below each link of a file
	links  []pbLink
}

func (n *pbNode) isFile() bool { return n.kind == data.Data_File || n.kind == data.Data_Raw }

// kindName is for messages.
func (n *pbNode) kindName() string {
	switch n.kind {
	case data.Data_HAMTShard:
		return "a sharded (HAMT) directory"
	case data.Data_Symlink:
		return "a symbolic link"
	case data.Data_Metadata:
		return "a metadata node"
	case data.Data_Directory:
		return "a directory"
	}
	if n.isFile() {
		return "a file"
	}
	return fmt.Sprintf("UnixFS of the unknown type %d", n.kind)
}

// decodePB reads a dag-pb block and the UnixFS data in it. where says what is read, for errors.
func decodePB(block []byte, where string) (*pbNode, error) {
	b := dagpb.Type.PBNode.NewBuilder()
	if err := dagpb.DecodeBytes(b, block); err != nil {
		return nil, invalid("%s: not dag-pb: %v", where, err)
	}
	pb, ok := b.Build().(dagpb.PBNode)
	if !ok || !pb.Data.Exists() {
		return nil, invalid("%s: a dag-pb node without UnixFS data", where)
	}
	fs, err := data.DecodeUnixFSData(pb.Data.Must().Bytes())
	if err != nil {
		return nil, invalid("%s: dag-pb data that is not UnixFS: %v", where, err)
	}
	n := &pbNode{kind: fs.FieldDataType().Int()}
	if fs.FieldData().Exists() {
		n.inline = fs.FieldData().Must().Bytes()
	}
	if fs.FieldFileSize().Exists() {
		n.size = fs.FieldFileSize().Must().Int()
	}
	for it := fs.FieldBlockSizes().Iterator(); !it.Done(); {
		_, v := it.Next()
		n.sizes = append(n.sizes, v.Int())
	}
	if n.links, err = pbLinks(pb, where); err != nil {
		return nil, err
	}
	return n, nil
}

func pbLinks(pb dagpb.PBNode, where string) ([]pbLink, error) {
	out := make([]pbLink, 0, pb.Links.Length())
	for it := pb.Links.Iterator(); !it.Done(); {
		i, l := it.Next()
		c, err := linkCID(l.Hash.Link())
		if err != nil {
			return nil, invalid("%s: %v", where, err)
		}
		if err := admit(c, fmt.Sprintf("%s, link %d", where, i)); err != nil {
			return nil, err
		}
		link := pbLink{cid: c}
		if l.Name.Exists() {
			link.name = l.Name.Must().String()
		}
		out = append(out, link)
	}
	return out, nil
}
