#!/usr/bin/env node
// The command `pawl`: runs worker/cli.ts in this process, or with the project's pinned Node if the Node that runs this file is too old.
//
// JavaScript, because Node 20 must be able to read it.

import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const FIRST_NODE = 24
const here = dirname(fileURLToPath(import.meta.url))
// The published package contains JavaScript instead of TypeScript, because Node does not strip types in node_modules.
const cli = existsSync(join(here, 'cli.ts')) ? './cli.ts' : './cli.js'

if (Number(process.versions.node.split('.')[0]) >= FIRST_NODE) {
  hideExperimentalWarnings()
  await import(cli)
} else runWith(findNode(here))

/** Has the effect of `--disable-warning=ExperimentalWarning`. */
function hideExperimentalWarnings() {
  for (const print of process.listeners('warning')) {
    process.off('warning', print)
    process.on('warning', (warning) => {
      if (warning.name !== 'ExperimentalWarning') print(warning)
    })
  }
}

function findNode(from) {
  for (let dir = from; ; dir = dirname(dir)) {
    const pinned = join(dir, 'node_modules', 'node', 'bin', 'node')
    if (existsSync(pinned)) return pinned
    if (dir === dirname(dir)) return undefined
  }
}

function runWith(node) {
  if (node === undefined) {
    process.stderr.write(
      `pawl: found Node ${process.version}; expected ${FIRST_NODE} or newer; put it first in PATH, or run npm ci, which installs Node ${FIRST_NODE} in node_modules/node\n`,
    )
    process.exit(1)
  }
  const args = ['--disable-warning=ExperimentalWarning', join(here, cli), ...process.argv.slice(2)]
  const child = spawn(node, args, { stdio: 'inherit' })
  // An injector sends SIGUSR1 to a waiting init container (`pawl injector chaos-handler`).
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR1']) process.on(name, () => child.kill(name))
  child.once('error', (error) => {
    process.stderr.write(`pawl: cannot start ${node}: ${error.message}\n`)
    process.exit(1)
  })
  child.once('exit', (code, name) => process.exit(code ?? 128 + (constants.signals[name] ?? 0)))
}
