// The command line `pawl`: one file per command in cli/. Started by pawl.js, which picks the right Node.

import { Command } from 'commander'
import { readFileSync } from 'node:fs'

import { genCommand } from './cli/gen.ts'
import { runProgram } from './cli/usage.ts'

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }

// Positional options: what stands behind a command is the command's, as in `pawl gen types --version v1`.
async function createProgram(first: string | undefined): Promise<Command> {
  const program = new Command('pawl')
    .description('A durable reconcile engine for Kubernetes')
    .version(version)
    .enablePositionalOptions()
  // It writes the registries that the other commands import, and mends them when a folder they name is gone.
  if (first === 'gen') return program.addCommand(genCommand())
  const { devCommand } = await import('./cli/dev.ts')
  const { migrateCommand } = await import('./cli/migrate.ts')
  const { bridgeCommand, webhookCommand, workerCommand } = await import('./cli/serve.ts')
  const { planCommand } = await import('./cli/plan.ts')
  const { getCommand } = await import('./cli/ask/get.ts')
  const { traceCommand } = await import('./cli/ask/trace.ts')
  const { whyCommand } = await import('./cli/ask/why.ts')
  const { historyCommand } = await import('./cli/ask/history.ts')
  const { graphCommand } = await import('./cli/ask/graph.ts')
  const { diffCommand } = await import('./cli/ask/diff.ts')
  return program
    .addCommand(devCommand())
    .addCommand(migrateCommand())
    .addCommand(bridgeCommand())
    .addCommand(workerCommand())
    .addCommand(webhookCommand())
    .addCommand(genCommand())
    .addCommand(planCommand())
    .addCommand(getCommand())
    .addCommand(traceCommand())
    .addCommand(whyCommand())
    .addCommand(historyCommand())
    .addCommand(graphCommand())
    .addCommand(diffCommand())
}

// Whoever reads may have read enough, as `head` has.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})
const argv = process.argv.slice(2)
const exitCode = await runProgram(await createProgram(argv[0]), argv)
// Handlers and sockets of a command must not keep a finished one alive.
process.exit(exitCode)
