// The command line `pawl`: one file per command in cli/. Started by pawl.js, which picks the right Node.

import { Command } from 'commander'
import { readFileSync } from 'node:fs'

import { BRIDGE_FLAGS, processSettings } from './bridge/flags.ts'
import { devCommand } from './cli/dev.ts'
import { genCommand } from './cli/gen.ts'
import { migrateCommand } from './cli/migrate.ts'
import { planCommand } from './cli/plan.ts'
import { processCommand, type ProcessEntry } from './cli/process.ts'
import { runProgram } from './cli/usage.ts'
import { reconcilerSettings, WORKER_FLAGS } from './reconciler/settings.ts'

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }

const BRIDGE: ProcessEntry = {
  name: 'bridge',
  description: 'watch Kubernetes and append every event to the journal',
  entry: 'bridge.ts',
  flags: BRIDGE_FLAGS,
  check: processSettings,
}

const WORKER: ProcessEntry = {
  name: 'worker',
  description: 'dispatch wakes and run workflows and activities',
  entry: 'reconciler.ts',
  flags: WORKER_FLAGS,
  check: reconcilerSettings,
}

// Positional options: what stands behind a command is the command's, as in `pawl gen types --version v1`.
function createProgram(): Command {
  return new Command('pawl')
    .description('A durable reconcile engine for Kubernetes')
    .version(version)
    .enablePositionalOptions()
    .addCommand(devCommand())
    .addCommand(migrateCommand())
    .addCommand(processCommand(BRIDGE))
    .addCommand(processCommand(WORKER))
    .addCommand(genCommand())
    .addCommand(planCommand())
}

const exitCode = await runProgram(createProgram(), process.argv.slice(2))
// Handlers and sockets of a command must not keep a finished one alive.
process.exit(exitCode)
