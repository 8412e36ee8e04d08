// Scenario: large numbers, each part by itself. What cannot be measured fails; the other parts are measured all the same.

import { brokenClaims, claimsTable } from './claims.ts'
import { warmUp } from './course-of-plan.ts'
import { measureGrowth } from './scale-growth.ts'
import { measureIdle } from './scale-idle.ts'
import type { PartResult } from './scale-part.ts'
import { measureItems, measureLevels, measureMostItems } from './scale-single.ts'
import { measureThroughput } from './scale-throughput.ts'
import { measureTurns } from './scale-turns.ts'
import { measureWakes } from './scale-wakes.ts'
import type { Scenario, ScenarioResult } from './scenario.ts'
import type { ScalePart } from './scenario-options.ts'
import type { Stage } from './stage.ts'

export const scale: Scenario = {
  summary: 'many Installations, large Executions, many wakes, idle ones at a restart; growth with their number',
  run: runScale,
}

const PARTS: Readonly<Record<ScalePart, (stage: Stage) => Promise<PartResult>>> = {
  throughput: measureThroughput,
  items: measureItems,
  'most-items': measureMostItems,
  levels: measureLevels,
  wakes: measureWakes,
  growth: measureGrowth,
  idle: measureIdle,
  turns: measureTurns,
}

async function runScale(stage: Stage): Promise<ScenarioResult> {
  const { parts, size } = stage.options.scenarioOptions
  await warmUp(stage)
  const results: PartResult[] = []
  const failures: string[] = []
  for (const part of parts) {
    stage.say(`scale: ${part}`)
    try {
      results.push(await PARTS[part](stage))
    } catch (error) {
      failures.push(`${part}: ${error instanceof Error ? error.message : String(error)}`)
      stage.say(`scale: ${part} FAILED`)
    }
  }
  const sections = results.map(
    ({ title, text, claims }) => `### ${title}\n\n${text}${claims.length === 0 ? '' : `\n\n${claimsTable(claims)}`}`,
  )
  return {
    failures: [...failures, ...results.flatMap(({ claims }) => brokenClaims(claims))],
    report: () => [`## Scale (${size})`, ...sections],
  }
}
