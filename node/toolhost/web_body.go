package toolhost

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
)

// rawSlack is how much more than the wanted bytes is read of a compressed body: one that is larger
// packed than unpacked is an attack on our time.
const rawSlack = 512 << 10

// readBody reads at most limit bytes, after unpacking gzip, and says whether there was more. Neither
// a small body that unpacks to a huge one nor a huge one that unpacks to nothing gets further.
func readBody(res *http.Response, limit int64) (body []byte, cut bool, err error) {
	raw := &io.LimitedReader{R: res.Body, N: limit + 1}
	var text io.Reader = raw
	if strings.EqualFold(res.Header.Get("Content-Encoding"), "gzip") {
		raw.N += rawSlack
		unpack, err := gzip.NewReader(raw)
		if err == io.EOF && raw.N > 0 {
			return nil, false, nil // no body at all, as with HEAD
		}
		if err != nil {
			return nil, false, err
		}
		text = unpack
		res.Header.Del("Content-Encoding")
		res.Header.Del("Content-Length")
	}
	body, err = io.ReadAll(io.LimitReader(text, limit+1))
	if int64(len(body)) > limit {
		return body[:limit], true, nil
	}
	if raw.N == 0 && err != nil {
		return body, true, nil // our own limit ended the packed stream
	}
	return body, raw.N == 0 && text != raw, err
}
