// The output of `pawl plan show --trace`: the trace of a pass that a test has stored as JSON.

import { readFile } from 'node:fs/promises'

import { describeTrace, type TracedStep, traceToMermaid } from '../../workflows/kit/index.ts'
import { UsageError } from '../server/usage-error.ts'
import type { PlanFormat } from './draw-plan.ts'

/** @throws UsageError when the file is no trace. */
export async function drawTrace(file: string, format: PlanFormat): Promise<string> {
  const trace = await read(file)
  if (!isTrace(trace))
    throw new UsageError(`--trace ${file}: expected the trace of a pass as JSON, written by pawl/kit/testing`)
  switch (format) {
    case 'text':
      return `${describeTrace(trace)}\n`
    case 'mermaid':
      return `${traceToMermaid(trace)}\n`
    case 'json':
      return `${JSON.stringify(trace, null, 2)}\n`
  }
}

async function read(file: string): Promise<unknown> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    const found = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    throw new UsageError(`--trace ${file}: cannot read the file (${found})`)
  })
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const MARKS: readonly unknown[] = [
  'ok',
  'fault',
  'thrown',
  'unended',
  'skipped',
] satisfies readonly TracedStep['mark'][]

function isTrace(value: unknown): value is TracedStep {
  if (typeof value !== 'object' || value === null) return false
  const { name, mark, children } = value as Partial<Record<keyof TracedStep, unknown>>
  return typeof name === 'string' && MARKS.includes(mark) && Array.isArray(children) && children.every(isTrace)
}
