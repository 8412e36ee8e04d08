#!/usr/bin/env node
// The command `pawl`: runs worker/cli.ts with the project's pinned Node, independent of the Node that runs this file.
//
// JavaScript, because Node 20 must be able to read it.

import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
// The published package contains JavaScript instead of TypeScript, because Node does not strip types in node_modules.
const cli = join(here, existsSync(join(here, 'cli.ts')) ? 'cli.ts' : 'cli.js')
const node = findNode(here)

if (node === undefined) {
  process.stderr.write(
    `pawl: found Node ${process.version}; expected 24 or newer; put it first in PATH, or run npm ci, which installs Node 24 in node_modules/node\n`,
  )
  process.exit(1)
}

const child = spawn(node, ['--disable-warning=ExperimentalWarning', cli, ...process.argv.slice(2)], {
  stdio: 'inherit',
})
// An injector sends SIGUSR1 to a waiting init container (`pawl injector chaos-handler`).
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR1']) process.on(name, () => child.kill(name))
child.once('error', (error) => {
  process.stderr.write(`pawl: cannot start ${node}: ${error.message}\n`)
  process.exit(1)
})
child.once('exit', (code, name) => process.exit(code ?? 128 + (constants.signals[name] ?? 0)))

function findNode(from) {
  for (let dir = from; ; dir = dirname(dir)) {
    const pinned = join(dir, 'node_modules', 'node', 'bin', 'node')
    if (existsSync(pinned)) return pinned
    if (dir === dirname(dir)) break
  }
  return Number(process.versions.node.split('.')[0]) >= 24 ? process.execPath : undefined
}
