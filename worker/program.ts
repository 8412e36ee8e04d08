// The main module of the programs: `node worker/program.ts NAME ARGUMENTS`, or `pawl NAME ARGUMENTS`.

import { PROGRAMS } from './programs.ts'
import type { WingProgram } from '../activities/program.ts'
import { childEnvironment, modulePath } from './server/config.ts'

const LONG_MS = 1_000_000_000

/** The program of this name. */
export function findProgram(name: string | undefined): WingProgram | undefined {
  return PROGRAMS.find((program) => program.name === name)
}

/** Runs a program in this process until it ends or a signal stops it. Returns the exit code. */
export async function runWingProgram({ name, load }: WingProgram, args: readonly string[]): Promise<number> {
  const ending = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => ending.abort(new Error(signal)))
  // Waiting for a signal does not keep Node alive.
  const alive = setInterval(() => undefined, LONG_MS)
  const { run } = await load()
  const exitCode = await run({
    args,
    env: childEnvironment(),
    self: [process.execPath, '--disable-warning=ExperimentalWarning', modulePath('program.ts'), name],
    end: ending.signal,
    print: (text) => process.stdout.write(text),
    complain: (text) => process.stderr.write(text),
  })
  clearInterval(alive)
  return exitCode
}

if (import.meta.main) {
  const [name, ...args] = process.argv.slice(2)
  const program = findProgram(name)
  if (program === undefined) {
    const known = PROGRAMS.map((one) => one.name).join(', ')
    process.stderr.write(`pawl: found ${name === undefined ? 'no program' : `'${name}'`}; expected one of ${known}\n`)
    process.exit(2)
  }
  process.exit(await runWingProgram(program, args))
}
