// Package web is the built-in extension web: the tools web_fetch and web_search.
//
// What lives here: how an answer is shown, and the search services that the operator can name. What
// may not: connections and the check of addresses; both are behind the call's [extension.Host].
package web
