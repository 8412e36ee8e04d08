// The command line `pawl`: one file per command in cli/, and the commands and programs of wings. Started by pawl.js, which selects the Node version.

import { COMMANDS, createProgram } from './cli/command-line.ts'
import { useCompileCache } from './cli/compile-cache.ts'
import { runProgram } from './cli/usage.ts'
import { readConfig } from './server/config.ts'

useCompileCache(readConfig().cacheDir)

async function runByName([first, ...args]: readonly string[]): Promise<number | undefined> {
  if (first === undefined || Object.hasOwn(COMMANDS, first)) return undefined
  const { findProgram, runWingProgram } = await import('./program.ts')
  const found = findProgram(first)
  return found && (await runWingProgram(found, args))
}

// The reader of a pipe, such as `head`, may stop reading.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})
const argv = process.argv.slice(2)
const exitCode = (await runByName(argv)) ?? (await runProgram(await createProgram(argv[0]), argv))
// A pipe takes 64 KB at once; exiting earlier would lose the remaining output.
await Promise.all([drained(process.stdout), drained(process.stderr)])
// Handlers and sockets of a command must not keep a finished one alive.
process.exit(exitCode)

async function drained(stream: NodeJS.WriteStream): Promise<void> {
  await new Promise<void>((done) => stream.write('', () => done()))
}
