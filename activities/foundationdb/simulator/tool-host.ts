// The real world of a tool: files, the standard streams and the wall clock.
//
// The generated scripts (bin.ts) pass Node's process, so these modules have no main and read no environment.
// FDB_SIM_TIME_SCALE: how many real seconds one simulated second takes (default 1).

import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

import type { Host } from './cli/context.ts'
import { outsidePath } from './container-root.ts'
import { scaledClock } from './core/clock.ts'

/** The parts of Node's process that the tools use. */
export interface ToolProcess {
  /** Node, the script, then the tool's arguments. */
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdin: NodeJS.ReadableStream
  readonly stdout: NodeJS.WritableStream
  readonly stderr: NodeJS.WritableStream
}

export function toolHost({ env, stdin, stdout, stderr }: ToolProcess, version: string): Host {
  let lines: AsyncIterator<string> | undefined
  const timeScale = Number(env['FDB_SIM_TIME_SCALE'] ?? '1') || 1
  return {
    version,
    clock: scaledClock(timeScale),
    timeScale,
    environment: env,
    stdout: (text) => {
      stdout.write(text)
    },
    stderr: (text) => {
      stderr.write(text)
    },
    input: {
      next: async () => {
        lines ??= createInterface({ input: stdin, crlfDelay: Infinity })[Symbol.asyncIterator]()
        return await lines.next()
      },
    },
    readFile: (path) => readFileSync(outsidePath(path, env), 'utf8'),
    writeFile: (path, text) => {
      writeFileSync(outsidePath(path, env), text)
    },
    isDirectory: (path) => statSync(outsidePath(path, env), { throwIfNoEntry: false })?.isDirectory() === true,
    random: Math.random,
    wallSeconds: () => Date.now() / 1000,
  }
}
