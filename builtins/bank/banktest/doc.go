// Package banktest is a small world of peers with real documents and real rights, for the tests of
// banks and of what is kept in them. Only tests import it.
package banktest
