// Runs programs. Tests replace it and record the command lines.

import { spawn } from 'node:child_process'

export interface ProgramResult {
  /** 127: the program does not exist. */
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program to its end, without a shell. */
export type Run = (argv: readonly string[], input?: string) => Promise<ProgramResult>

export const runProgram: Run = async ([program = '', ...args], input) =>
  await new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] })
    const text = { stdout: '', stderr: '' }
    for (const name of ['stdout', 'stderr'] as const)
      child[name].setEncoding('utf8').on('data', (chunk: string) => (text[name] += chunk))
    child.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') resolve({ ...text, code: 127, stderr: `${program} is not installed` })
      else reject(error)
    })
    child.once('close', (code) => resolve({ ...text, code: code ?? 128 }))
    // The program may end without reading its input.
    child.stdin.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') reject(error)
    })
    child.stdin.end(input ?? '')
  })
