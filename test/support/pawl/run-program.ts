// Runs a command of pawl in the process of the test: a new process takes half a second of CPU time to load its modules.

import { vi } from 'vitest'
import { createProgram } from '../../../worker/cli/command-line.ts'
import { runProgram } from '../../../worker/cli/usage.ts'

export interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs `pawl` with these words. Commands must not run concurrently in one test file. */
export async function runPawl(...words: readonly string[]): Promise<Ended> {
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
  const spy = vi.spyOn(stream, 'write').mockImplementation((part) => {
    text += String(part)
    return true
  })
  return { text: () => text, end: () => spy.mockRestore() }
}
