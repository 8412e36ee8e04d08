// Scenario: many Installations at once, of many items, through create, reconcile and delete, compared with Gardener Landscaper; and many Disruptions at once.

import { ExtraProcesses } from '../extra-processes.ts'
import { JournalReader } from '../journal-reader.ts'
import { someOf, wholeNumber } from '../options.ts'
import { figure, markdownTable } from '../report.ts'
import type { Context, Scenario, ScenarioResult } from '../scenario.ts'
import { type Stage, withSet } from '../servers.ts'
import { simulateInjectors } from '../load/disruptions.ts'
import { loadSections, readReference } from '../load/load-report.ts'
import { type Measurement, measureLoad, warmUp } from '../load/measure.ts'
import { chooseRows, keyOfRow, type RowResult } from '../load/rows.ts'
import { DEPLOYERS, OPERATIONS, type Operation } from '../load/subject.ts'

export const scenario: Scenario = {
  summary: 'time, writes, CPU and memory of jobs and deletions, against the reference',
  flags: {
    rows: ['LIST', 'e.g. 1x1,1x10-chain,100x5: installations x items; 1x5000 is the largest Execution (the table)'],
    deployers: ['LIST', `${DEPLOYERS.join(', ')} (mock, manifest); disruption: rows of Disruptions x pods`],
    ops: ['LIST', `${OPERATIONS.join(', ')}; create always comes first (all)`],
    namespaces: ['N', 'spread the Installations over so many namespaces (1)'],
    workers: ['N', 'how many workers (1)'],
  },
  run: (context) => withSet(context, deployersOf(context).includes('disruption') ? CHAOS : {}, runRows),
}

const CHAOS = { wings: 'landscaper,chaos', prepare: simulateInjectors }

function deployersOf({ options: { values } }: Pick<Context, 'options'>) {
  return someOf(values, 'deployers', DEPLOYERS).filter(
    (one) => values['deployers'] !== undefined || one !== 'disruption',
  )
}

async function runRows(stage: Stage): Promise<ScenarioResult> {
  const workers = wholeNumber(stage.options.values, 'workers', 1)
  const more = await ExtraProcesses.open(stage.set)
  const journal = new JournalReader(stage.set.databaseUrl)
  try {
    for (let worker = 2; worker <= workers; worker++) await more.start(`worker-${worker}`, 'worker')
    const processes = [...stage.set.processes, ...more.processes]
    return await measureRows({ ...stage, set: { ...stage.set, processes } }, journal)
  } finally {
    await journal.close()
    await more.stop()
  }
}

async function measureRows(stage: Stage, journal: JournalReader): Promise<ScenarioResult> {
  const { options, log } = stage
  const { values } = options
  const reference = await readReference()
  const names = values['rows']?.split(',').map((name) => name.trim())
  const rows = chooseRows(names, deployersOf(stage), wholeNumber(values, 'namespaces', 1))
  const operations = someOf(values, 'ops', OPERATIONS)
  await warmUp(stage)

  const failures: string[] = []
  const results: RowResult[] = []
  const growth: string[][] = []
  for (const row of rows) {
    const runs = new Map<Operation, Measurement[]>()
    const before = await journal.bytes()
    for (let run = 1; run <= options.runs; run++) {
      const title = `${keyOfRow(row)}, run ${run} of ${options.runs}`
      try {
        await measureLoad(stage, row, operations, (operation, measured) => {
          runs.set(operation, [...(runs.get(operation) ?? []), measured])
          const { wallMs, requests } = measured
          log(`${title}: ${operation} ${(wallMs / 1000).toFixed(2)} s, ${requests.writes} writes`)
        })
      } catch (error) {
        const failure = `${title}: ${error instanceof Error ? error.message : String(error)}`
        failures.push(failure)
        log(`FAILED: ${failure}`)
      }
    }
    results.push({ row, runs })
    const objects = [...runs.values()].flat().reduce((all, one) => all + one.objects, 0)
    growth.push([keyOfRow(row), figure(((await journal.bytes()) - before) / 1024 / objects)])
  }
  const table = markdownTable(['row', 'KiB'], growth)
  const journalSection = `## Journal\n\nGrowth of the database on disk for each operation of an object.\n\n${table}`
  return { failures, sections: [...loadSections(results, reference), journalSection] }
}
