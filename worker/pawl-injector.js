#!/usr/bin/env node
// The command `pawl-injector`: runs `pawl injector`, as the entry point of an image.
//
// Runs the CLI in this process if its Node is new enough, for two reasons: the injector sends SIGUSR1 to PID 1 of a
// waiting init container, and init containers have little memory. JavaScript for the same reason as pawl.js.

import { existsSync } from 'node:fs'

const FIRST_NODE = 24

process.argv.splice(2, 0, 'injector')
const cli = existsSync(new URL('cli.ts', import.meta.url)) ? './cli.ts' : './cli.js'
await import(Number(process.versions.node.split('.')[0]) >= FIRST_NODE ? cli : './pawl.js')
