#!/usr/bin/env node
// The command `pawl-injector`: runs `pawl injector`, as the entry point of an image.
//
// With Node 24 or newer it is one process, for two reasons: the injector sends SIGUSR1 to PID 1 of a waiting init
// container, and init containers have little memory.

process.argv.splice(2, 0, 'injector')
await import(new URL('pawl.js', import.meta.url).href)
