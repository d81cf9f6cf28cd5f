package engine

import "slices"

// compats lists the guests of github.com/extism/go-sdk@v1.7.1/wasm with the calls that its authors make.
func compats() []compat { return slices.Concat(compatsAtoF(), compatsHtoL(), compatsMtoV()) }

func compatsAtoF() []compat {
	return []compat{
		{file: "alloc.wasm", sha256: "3561467ca9c05ecc1ec082294ad3228a54cee0a3e61276f47b1a961d05dd33a9", calls: []string{"run_test() = "}},
		{
			file: "config.wasm", sha256: "1b9431006e9ce1032fcccf9ca56696c4fee38229439e9a15e540bd5eeddea8bb",
			options: config("thing", "hello"), calls: []string{`run_test() = {"config": "hello"}`},
		},
		{
			file: "count_vowels.wasm", sha256: "0c1779c48f56f94b3e3624d76f55e38215870c59ccb3d41f6ba8b2bc22f218f5",
			calls: []string{
				`count_vowels(aaa) = {"count":3,"total":3,"vowels":"aeiouAEIOU"}`,
				`count_vowels(bbba) = {"count":1,"total":4,"vowels":"aeiouAEIOU"}`,
				`count_vowels() = {"count":0,"total":4,"vowels":"aeiouAEIOU"}`,
			},
		},
		{
			file: "count_vowels_std.wasm", slow: true, sha256: "11a95d12352cce4d4b6d6f58459e4325f0768374a9ad8dbbb1ede61369cb8c4d",
			calls: []string{
				`_start(hello world) = {"count": 3, "config": "<unset by host>", "a": "this is var a"}`,
			},
		},
		{
			file: "exit.wasm", sha256: "bd8b401fd42572fa2de8981e90b03d3e54113eec344b0d28b8216af76cc38cef",
			options: config("code", "500"),
			calls:   []string{"_start() ! call _start of guest: the guest ended itself with code 500"},
		},
		{
			file: "fail.wasm", sha256: "8e95c4762db18bc8d2c9b6c8e28586ee274e7253b5c5bc300b8a7cfc34de31e4",
			calls: []string{"run_test() ! Some error message"},
		},
		{
			file: "fs.wasm", sha256: "9e6c4c41046232a17a617047896bc3b51f57d75efef2bc643cecf03523f27a14",
			options: mounted(true), calls: []string{"run_test() = hello world!"},
		},
		{
			file: "fs_std.wasm", slow: true, sha256: "0ef6a436e4822726a90e92b4cc746f50f3b133069b33229bff85c0a94f1919b4",
			options: mounted(true), calls: []string{"run_test() = hello world!"},
		},
	}
}

func compatsHtoL() []compat {
	return []compat{
		{
			file: "hello.wasm", sha256: "53b0927aaf1b2dd443c2ad080bebd4d2c7b2ccd700099060389ad415be861816",
			calls: []string{"run_test() = Hello, world!"},
		},
		{
			file: "hello_haskell.wasm", sha256: "efea4be59668d8155a72631eba0b87931c5c62749afe3ad9af72950848d17ef9",
			options: config("greeting", "Howdy"), calls: []string{"testing(John) = Howdy, John"},
		},
		{
			file: "host.wasm", sha256: "c1d8c83b78a96c80194c499f31ea0b5fe87083940a837422956ccbda064972b5",
			options: upper, refused: `it imports the host function "mult" as (i64, i64) -> i64, but it takes at most one block`,
		},
		{
			file: "host_memory.wasm", sha256: "80c03d81d035b979bfaef5924da5c18db0dd3c6fa6300b8484af997f6a6ed37d",
			options: upper, refused: `it imports "to_upper" of "host": only extism:host/env`,
		},
		{
			file: "host_multiple.wasm", sha256: "760977cb54c27fb86f88270870ce724aac6e931e7c26099f334210e487c7950a",
			options: messages, calls: []string{
				"say_green(John Doe) = green:🫱 Hey from say_green John Doe", "say_purple(Jane Doe) = purple:👋 Hello from say_purple Jane Doe",
			},
		},
		{
			file: "http.wasm", sha256: "0a8e9650c495e6fc1aaf6b9630cbb193ecf4f47f4a78650a400b2246d6fc7fec",
			options: answers(`{"id":1}`, nil), calls: []string{`run_test() = {"id":1}`},
		},
		{
			file: "http_headers.wasm", sha256: "682aecd1b907d47bf0aa11c2aac2c2d5b95a498706a29cd3d496eeb3ac9b9078",
			options: answers("page", map[string]string{"content-type": "text/html"}),
			calls:   []string{`http_get({"url":"https://example.org"}) = {"content-type":"text/html"}`},
		},
		{
			file: "input_offset.wasm", sha256: "763a6a35833a7891b590f55e15ca411eaa007ad272fcd20237b949a81b44ede3",
			calls: []string{"input_offset_length(hello world) = \x0b\x00\x00\x00\x00\x00\x00\x00"},
		},
		{
			file: "lib.wasm", idle: true, sha256: "06722442359e22194cefed6a489047b2adf0961613a266223c464ce52caf2d6e",
			calls: []string{"capitalize(x) ! call capitalize of guest: no such function to call without parameters: it is (i64) -> i64"},
		},
		{
			file: "log.wasm", sha256: "4d40888428bcf5a77c7a96842ff61a24e299d192e7a7d4c7f76d84a96f93516a",
			calls: []string{"run_test() = "}, log: "warn: this is a warning log\nerror: this is an error log",
		},
	}
}

func compatsMtoV() []compat {
	return []compat{
		{
			file: "main.wasm", sha256: "edbec9a2ede45521b1677ca4749cdaab4cf34964e573df06a61489849565ef26",
			refused: `it imports "capitalize" of "lib": only extism:host/env`,
		},
		{
			file: "nested.c.instr.wasm", sha256: "3d8b615ab7ed5373bdebc435fa32cd41376634de77a9b971251c2cd109bcfc99",
			refused: `"dylibso_observe": it is instrumented for an observability SDK`,
		},
		{file: "noop.wasm", sha256: "f388f9ed67eb63e0dd155a24356db599b7a2a0aced5a7d517acbdeaa8df38b2c", calls: []string{"run_test() = "}},
		{
			file: "println.wasm", sha256: "4cbf805d878699d08f6868a5f5238a11e75448ed3f5fc6af8fdf0ea625811ccd",
			calls: []string{"run_test(a word) = "}, log: "stdout: this was printed from the plugin a word",
		},
		{
			file: "read_write.wasm", sha256: "a99159585e162825eeb53355ea0f607695a7e9521f8095f3b690404ccd7dcc94",
			options: mounted(true), calls: []string{"try_read() = hello world!", "try_write(more) = hello world!more", "try_read() = hello world!more"},
		},
		{
			file: "replace.wasm", sha256: "49327bb1f6d89f42d3cd728fa48847bc4d007ea7c357b9fa0ec34eaef13c674d",
			calls: []string{"run_test(hello world) = hello world"},
		},
		{
			file: "sleep.wasm", sha256: "6987d819bfc83e5f32bbfaf6a7e37ec8ca0f799dd6929354ca921a4b551ff250",
			options: config("duration", "0"), calls: []string{"run_test() = slept for 0 seconds"},
		},
		{
			file: "std_command.wasm", slow: true, sha256: "094145d9d08de3455f2a6129e14a3965b468e081e805e808ac3d69f8c98e1d4b",
			calls: []string{"_start(ben) = hello ben", "_start(jo) = hello jo"},
		},
		{
			file: "var.wasm", sha256: "2fe4f4ee4f6594bc78f3112e23498505420c561838feacd69864bbdf88470af1",
			calls: []string{"run_test() = a: 0"},
		},
	}
}
