// Runs a command of `pawl` in the process of the test: a new process takes 1 s of CPU time to load its modules.

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'

import { vi } from 'vitest'

import { createProgram } from '../../../worker/cli/command-line.ts'
import { runProgram } from '../../../worker/cli/usage.ts'
import { childEnvironment } from '../../../worker/server/config.ts'

const PAWL = fileURLToPath(new URL('../../../worker/pawl.js', import.meta.url))
const START_LIMIT_MS = 90_000
const MAX_OUTPUT_BYTES = 2 ** 26

export interface Ended {
  readonly code: unknown
  readonly stdout: string
  readonly stderr: string
}

export async function runCommand(...words: readonly string[]): Promise<Ended> {
  const [stdout, stderr] = [collect(process.stdout), collect(process.stderr)]
  try {
    const code = await runProgram(await createProgram(words[0]), words)
    return { code, stdout: stdout.text(), stderr: stderr.text() }
  } finally {
    stdout.end()
    stderr.end()
    process.exitCode = undefined
  }
}

/** @param env environment variables during the command. The file must not stub others. */
export async function runCommandWith(
  env: Readonly<Record<string, string>>,
  ...words: readonly string[]
): Promise<Ended> {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
  try {
    return await runCommand(...words)
  } finally {
    vi.unstubAllEnvs()
  }
}

/** Runs a command of `pawl` in a new process, as a user does. @param env in addition to the environment of the test. */
export async function startCommand(env: Readonly<Record<string, string>>, ...words: readonly string[]): Promise<Ended> {
  const options = { env: childEnvironment(env), timeout: START_LIMIT_MS, maxBuffer: MAX_OUTPUT_BYTES }
  return await new Promise((done) => {
    execFile(process.execPath, [PAWL, ...words], options, (error, stdout, stderr) =>
      done({ code: error?.code ?? 0, stdout, stderr }),
    )
  })
}

function collect(stream: NodeJS.WriteStream) {
  let text = ''
  const spy = vi.spyOn(stream, 'write').mockImplementation((part, encoding, written) => {
    text += String(part)
    const done = typeof encoding === 'function' ? encoding : written
    done?.()
    return true
  })
  return { text: () => text, end: () => spy.mockRestore() }
}
