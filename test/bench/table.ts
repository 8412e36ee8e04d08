// Scenario: the table of rows x operations, each measured several times.

import { keepBaseline, readBaseline, readReference } from './figures.ts'
import type { Plan } from './installations.ts'
import { Load, OPERATIONS, type Operation } from './load.ts'
import { measure, type Measurement } from './measure.ts'
import { chooseRows, keyOfRow, type RowResult, WARM_UP } from './rows.ts'
import type { Scenario, ScenarioResult } from './scenario.ts'
import type { Stage } from './stage.ts'
import { tableSections } from './table-report.ts'

export const table: Scenario = {
  summary: 'time, writes, CPU and memory of jobs and deletions, against the reference and the baseline',
  run: runTable,
}

async function runTable(stage: Stage): Promise<ScenarioResult> {
  const { options, say } = stage
  const [reference, baseline] = [await readReference(), await readBaseline(options.temporalStore)]
  const rows = chooseRows(options.rows, options.deployers)
  const failures: string[] = []
  say('warm-up')
  await runOnce(stage, WARM_UP, OPERATIONS, () => undefined)

  const results: RowResult[] = []
  for (const row of rows) {
    const runs = new Map<Operation, Measurement[]>()
    for (let run = 1; run <= options.runs; run++) {
      const title = `${keyOfRow(row)}, run ${run} of ${options.runs}`
      try {
        await runOnce(stage, row, options.operations, (operation, found) => {
          runs.set(operation, [...(runs.get(operation) ?? []), found])
          say(`${title}: ${operation} ${(found.wallMs / 1000).toFixed(2)} s, ${found.requests.writes} writes`)
        })
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error)
        failures.push(`${title}: ${reason}`)
        say(`${title}: FAILED: ${reason}`)
      }
    }
    results.push({ row, runs })
  }
  return {
    failures,
    report: (yardsticks) => tableSections(results, { reference, baseline, yardsticks }),
    record: (yardsticks) => keepBaseline(options.temporalStore, results, yardsticks),
  }
}

/** One load through the operations; create comes first in any case. */
async function runOnce(
  { kube, set, options }: Stage,
  plan: Plan,
  operations: readonly Operation[],
  onMeasured: (operation: Operation, found: Measurement) => void,
): Promise<void> {
  const load = await Load.open(kube, plan, set)
  try {
    for (const operation of new Set<Operation>(['create', ...operations])) {
      const { processes } = set
      onMeasured(operation, await measure(load, operation, { processes, timeoutMs: options.timeoutMs }))
    }
  } finally {
    await load.close()
  }
}
