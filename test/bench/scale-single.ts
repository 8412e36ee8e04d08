// Parts of scale: a single Execution of many items, one of as many as is of any use, and one of many levels.

import { MOST_ITEMS } from '../../activities/landscaper/item-rules.ts'
import { measuredOf, measurePlan, titleOf } from './course-of-plan.ts'
import type { Plan, Shape } from './installations.ts'
import { OPERATIONS } from './load.ts'
import { count, figure, markdownTable, seconds } from './markdown.ts'
import type { Usages } from './processes.ts'
import { type PartResult, sized } from './scale-part.ts'
import type { Stage } from './stage.ts'

const ITEMS = 1000
const LEVELS = 500

export async function measureItems(stage: Stage): Promise<PartResult> {
  return await measureOne(stage, 'wide', sized(ITEMS, stage.options.scenarioOptions.size))
}

export async function measureMostItems(stage: Stage): Promise<PartResult> {
  return await measureOne(stage, 'wide', sized(MOST_ITEMS, stage.options.scenarioOptions.size))
}

export async function measureLevels(stage: Stage): Promise<PartResult> {
  return await measureOne(stage, 'chain', sized(LEVELS, stage.options.scenarioOptions.size))
}

async function measureOne(stage: Stage, shape: Shape, items: number): Promise<PartResult> {
  const plan: Plan = { installations: 1, items, shape, deployer: 'mock' }
  const measured = await measurePlan(stage, plan, ['reconcile', 'delete'])
  const rows = OPERATIONS.map((operation) => {
    const { wallMs, requests, cpuSeconds, usages } = measuredOf(measured, operation)
    return [
      operation,
      seconds(wallMs),
      figure(wallMs / items),
      count(requests.writes),
      count(requests.reads),
      count(requests.conflicts),
      figure(cpuSeconds),
      largestOf(usages),
      figure(usages['worker']?.peakMemoryMiB),
    ]
  })
  const header = [
    '',
    'time, s',
    'ms per item',
    'writes',
    'reads',
    'conflicts',
    'CPU, s',
    'of which',
    'peak memory of the worker, MiB',
  ]
  const title = shape === 'wide' ? `One Execution of ${items} items` : `One Execution of ${items} levels`
  return { title, text: `${titleOf(plan)}.\n\n${markdownTable(header, rows)}`, claims: [] }
}

const PARTS_SHOWN = 4

/** The parts that took most, with their CPU in seconds. */
function largestOf(usages: Usages): string {
  const parts = Object.entries(usages).sort(([, one], [, other]) => other.cpuSeconds - one.cpuSeconds)
  return parts
    .slice(0, PARTS_SHOWN)
    .map(([name, { cpuSeconds }]) => `${name} ${figure(cpuSeconds)}`)
    .join(', ')
}
