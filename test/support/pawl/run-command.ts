// Runs a command of `pawl` in the process of the test: a new process takes 1 s of CPU time to load its modules.

import { vi } from 'vitest'

import { createProgram } from '../../../worker/cli/command-line.ts'
import { runProgram } from '../../../worker/cli/usage.ts'

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
