// Formats the report of the bench in Markdown: the machine, the failures, and the sections of the scenario. All
// scenarios use its formats of tables and numbers.

import { cpus, totalmem } from 'node:os'

export interface Report {
  readonly scenario: string
  readonly startedAt: Date
  /** The load of the machine over one minute, at the start and at the end. */
  readonly loads: readonly [before: number, after: number]
  /** Operations that did not complete, and false claims. The exit code is 0 only if the list is empty. */
  readonly failures: readonly string[]
  readonly sections: readonly string[]
}

export function formatReport({ scenario, startedAt, loads, failures, sections }: Report): string {
  const minutes = (Date.now() - startedAt.getTime()) / 60_000
  const cores = cpus()
  const memoryMiB = Math.round(totalmem() / 2 ** 20)
  const facts = [
    `- measured ${startedAt.toISOString()}, ${figure(minutes)} minutes`,
    `- ${cores.length} cores of ${cores[0]?.model.trim() ?? 'unknown'}, ${memoryMiB} MiB, Node ${process.version}`,
    `- load before ${figure(loads[0])}, after ${figure(loads[1])}`,
  ]
  const lines = failures.map((one) => `- ${one}`)
  const failed = failures.length === 0 ? [] : [`## DID NOT COMPLETE\n\n${lines.join('\n')}`]
  return `${[`# Bench: ${scenario}\n\n${facts.join('\n')}`, ...failed, ...sections].join('\n\n')}\n`
}

/** A statement of a scenario about its measurements. A false claim fails the bench. */
export interface Claim {
  /** For example `all 100 Succeeded`. */
  readonly sentence: string
  readonly measured: string
  readonly isTrue: boolean
}

export function falseClaims(claims: readonly Claim[]): readonly string[] {
  return claims.filter(({ isTrue }) => !isTrue).map(({ sentence, measured }) => `claim: ${sentence}: found ${measured}`)
}

export function claimsTable(claims: readonly Claim[]): string {
  const rows = claims.map(({ sentence, measured, isTrue }) => [sentence, measured, isTrue ? 'yes' : 'NO'])
  return markdownTable(['claim', 'measured', 'true'], rows)
}

/** A table. The first column is text, all other columns are numbers. */
export function markdownTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((title, column) => Math.max(title.length, ...rows.map((row) => (row[column] ?? '').length)))
  const line = (cells: readonly string[]) => {
    const padded = widths.map((width, column) => {
      const cell = cells[column] ?? ''
      return column === 0 ? cell.padEnd(width) : cell.padStart(width)
    })
    return `| ${padded.join(' | ')} |`
  }
  const rules = widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`))
  return [line(header), `| ${rules.join(' | ')} |`, ...rows.map(line)].join('\n')
}

const MISSING = '-'

/** Three significant digits; all digits before the point. */
export function figure(value: number | undefined): string {
  if (value === undefined || !Number.isFinite(value)) return MISSING
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.max(Math.abs(value), 0.1))))
  return value.toFixed(digits)
}

export function seconds(ms: number | undefined): string {
  return figure(ms === undefined ? undefined : ms / 1000)
}

export function count(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}

/** The quotient of two measurements, for example `5.2x`. */
export function times(theirs: number | undefined, ours: number): string {
  return theirs === undefined ? MISSING : `${figure(theirs / ours)}x`
}
