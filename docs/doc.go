// Package docs holds the documentation and the tests that keep it true.
package docs
