// Vitest reporter: prints what the test files cost, and compares it with the stored table. `PAWL_RECORD_COSTS=1` stores the table of this run.

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'

import type { Reporter, TestModule } from 'vitest/node'

import { type MeasuredFile, formatReport, formatTable, parseTable } from '../costs/cost-table.ts'

const STORED = 'test/costs.txt'

export class CostReporter implements Reporter {
  readonly #files: MeasuredFile[] = []

  onTestModuleEnd(module: TestModule): void {
    const cost = module.meta().cost
    if (cost === undefined) return
    this.#files.push({ ...cost, file: relative(process.cwd(), module.moduleId), project: module.project.name })
  }

  onTestRunEnd(): void {
    if (this.#files.length === 0) return
    const stored = existsSync(STORED) ? parseTable(readFileSync(STORED, 'utf8')) : []
    process.stdout.write(formatReport(this.#files, stored))
    if (process.env['PAWL_RECORD_COSTS'] === '1') writeFileSync(STORED, formatTable(this.#files))
  }
}

// eslint-disable-next-line no-restricted-syntax -- vitest reads the default export
export default CostReporter
