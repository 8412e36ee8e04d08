#!/usr/bin/env node
// The command `pawl-injector`: `pawl injector` by a name of its own, as the entry point of an image.
//
// In this process, where its Node can: the injector of a target tells the first process of a container that waits (SIGUSR1), and the memory of an
// init container is small. JavaScript, as pawl.js is.

import { existsSync } from 'node:fs'

const FIRST_NODE = 24

process.argv.splice(2, 0, 'injector')
const cli = existsSync(new URL('cli.ts', import.meta.url)) ? './cli.ts' : './cli.js'
await import(Number(process.versions.node.split('.')[0]) >= FIRST_NODE ? cli : './pawl.js')
