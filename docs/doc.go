// Package docs holds the documentation and the test that keeps its import table true.
package docs
