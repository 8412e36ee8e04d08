// The command `pawl journal verify`: whether the rows of the journal contradict each other, or Temporal.

import { Command } from 'commander'

import {
  violatedRules,
  type ViolatedRule,
  sequenceGaps,
  openRuns,
  RULES,
} from '../../../activities/journal/read/consistency-rules.ts'
import { readConfig } from '../../server/config.ts'
import type { TemporalTarget } from '../../server/temporal.ts'
import { type Asked, asking, type AskFlags, withAskFlags } from '../ask/open-journal.ts'
import { exitCodeOf, type Finding, findingsText } from '../doctor/findings.ts'
import { foldFlags, TEMPORAL_DETAILS } from '../help.ts'
import { EXPECTED_TEMPORAL, temporalPlace, type TemporalPlaceFlags, withTemporalFlags } from '../temporal-place.ts'
import { parseOneOf } from '../usage.ts'

interface VerifyFlags extends AskFlags, TemporalPlaceFlags {
  readonly output: 'text' | 'json'
}

/** So many open jobs are looked for in Temporal, the oldest first. */
const MOST_RUNS = 500

export function verifyCommand(): Command {
  const bare = new Command('verify')
    .description('look whether the journal is sound; exit code 1 when rows contradict each other')
    .option('-o, --output <format>', 'text, json', parseOneOf(['text', 'json'] as const), 'text')
  const command = withTemporalFlags(withAskFlags(bare))
  return foldFlags(command, TEMPORAL_DETAILS)
    .addHelpText('after', '\nExamples:\n  pawl journal verify\n  pawl journal verify --temporal-address localhost:7233')
    .action(async (flags: VerifyFlags) => {
      const target = await temporalPlace(flags, readConfig(), command)
      await asking(flags, async (asked) => {
        const findings = await verify(asked, target)
        process.stdout.write(
          flags.output === 'json' ? `${JSON.stringify(findings, null, 2)}\n` : findingsText(findings, asked.paint),
        )
        process.exitCode = exitCodeOf(findings)
      })
    })
}

async function verify(asked: Asked, target: TemporalTarget | undefined): Promise<readonly Finding[]> {
  const broken = await violatedRules(asked)
  const { events, without } = await sequenceGaps(asked)
  const gaps =
    without === 0
      ? 'none is missing'
      : `${without} numbers have none: their transactions did not commit, or retention took them`
  return [
    ...broken.flatMap(told),
    { part: 'rules', verdict: 'ok', text: `${RULES.length - broken.length} of ${RULES.length} hold` },
    { part: 'numbers', verdict: 'ok', text: `of the newest ${events} events ${gaps}` },
    ...(await runsFound(asked, target)),
  ]
}

function told({ name, severity, expected, violations, isTruncated }: ViolatedRule): readonly Finding[] {
  const rest: readonly Finding[] = isTruncated ? [{ part: name, verdict: severity, text: 'and more' }] : []
  return [
    ...violations.map((one): Finding => ({ part: name, verdict: severity, text: `${one}; expected ${expected}` })),
    ...rest,
  ]
}

async function runsFound(asked: Asked, target: TemporalTarget | undefined): Promise<readonly Finding[]> {
  if (target === undefined)
    return [
      { part: 'runs', verdict: 'skipped', text: `the address of Temporal is not known; expected ${EXPECTED_TEMPORAL}` },
    ]
  const runs = await openRuns(asked, MOST_RUNS)
  const { missingRuns } = await import('./runs.ts')
  const missing = await missingRuns(
    target,
    runs.map(({ workflowID }) => workflowID),
  )
  const lost = runs.flatMap(({ workflowID, description }): Finding[] => {
    const state = missing.get(workflowID)
    const text = `${description}: open, its run is ${state ?? ''}; expected it to run, or to be found lost by a worker`
    return state === undefined ? [] : [{ part: 'runs', verdict: 'bad', text }]
  })
  const text = `${runs.length - lost.length} of ${runs.length} open jobs have a run in Temporal`
  return [...lost, { part: 'runs', verdict: 'ok', text }]
}
