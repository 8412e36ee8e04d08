// The command `pawl doctor`: checks that the journal, the API server and Temporal answer and that the user may use
// them.

import { Command } from 'commander'

import { type Config, readConfig } from '../server/config.ts'
import { readFlags } from '../server/flags.ts'
import { TEMPORAL_FLAGS, temporalTarget } from '../server/temporal.ts'
import { UsageError } from '../server/usage-error.ts'
import type { GroupKind } from '../../workflows/kit/index.ts'
import { type JournalFlags, findJournal, addJournalFlags, withJournal } from './query/open-journal.ts'
import { ansiPaint, plainPaint } from './query/format.ts'
import { openApi } from './api-place.ts'
import { apiFindings, journalFindings } from './doctor/journal.ts'
import { clusterFindings } from './doctor/cluster.ts'
import { exitCodeOf, type Finding, findingsText } from './doctor/findings.ts'
import { runWingCheck, WING_CHECKS } from './wing-commands.ts'
import { optionsOf, withFlags, foldFlags, TEMPORAL_DETAILS } from './options.ts'
import { namespaceOf } from './kubeconfig.ts'
import { openUserClient } from './user.ts'
import { devAddress, TEMPORAL_HINT } from './temporal-address.ts'
import { parseOneOf } from './usage.ts'

const FORMATS = ['text', 'json'] as const

interface DoctorFlags extends JournalFlags {
  readonly output: (typeof FORMATS)[number]
  readonly temporalAddress?: string
}

export function doctorCommand(): Command {
  const bare = new Command('doctor')
    .description('check the journal, the API server, Temporal and your permissions; exit code 1 if a check is bad')
    .option('-o, --output <format>', FORMATS.join(', '), parseOneOf(FORMATS), 'text')
    .option('--temporal-address <host:port>', 'Temporal (default: $PAWL_TEMPORAL_ADDRESS, else from pawl dev)')
  const command = withFlags(addJournalFlags(bare), TEMPORAL_FLAGS)
  for (const { name, summary } of WING_CHECKS) command.option(`--${name}`, `${summary} (-n: in one namespace)`)
  return foldFlags(command, TEMPORAL_DETAILS)
    .addHelpText('after', '\nExamples:\n  pawl doctor\n  pawl doctor -n team-a -o json\n  pawl doctor --landscaper')
    .action(async (flags: DoctorFlags) => {
      const wingCheck = WING_CHECKS.find(({ name }) => command.getOptionValue(name) === true)
      if (wingCheck !== undefined) {
        process.exitCode = await runWingCheck(wingCheck.check, flags)
        return
      }
      const findings = await examine(flags, optionsOf(command))
      const isColoured = process.stdout.isTTY && process.stdout.hasColors()
      process.stdout.write(
        flags.output === 'json'
          ? `${JSON.stringify(findings, null, 2)}\n`
          : findingsText(findings, isColoured ? ansiPaint : plainPaint),
      )
      process.exitCode = exitCodeOf(findings)
    })
}

async function examine(flags: DoctorFlags, given: Readonly<Record<string, string>>): Promise<readonly Finding[]> {
  const config = readConfig()
  const namespace = await namespaceOf(flags, config)
  const ofItsJournal = await ofJournal(flags, config)
  const isJournalGood = ofItsJournal.every(({ verdict }) => verdict !== 'bad')
  const followed = isJournalGood ? await followedKinds(flags) : undefined
  return [
    { part: 'pawl', verdict: 'ok', text: `Node ${process.version}` },
    ...ofItsJournal,
    ...(await ofCluster(flags, config, { namespace, followed })),
    ...(await ofTemporal(flags, config, given)),
  ]
}

async function ofJournal(flags: DoctorFlags, config: Config): Promise<readonly Finding[]> {
  try {
    const location = await findJournal(flags, config)
    if ('url' in location) return await journalFindings(location.url, flags.cluster)
    const api = await openApi(location.api, flags, config)
    try {
      return await apiFindings(location.api, api, flags.cluster)
    } finally {
      await api.close()
    }
  } catch (error) {
    return [{ part: 'journal', verdict: 'bad', text: error instanceof Error ? error.message : String(error) }]
  }
}

/** Pawl's kinds that a bridge follows. */
async function followedKinds(flags: DoctorFlags): Promise<readonly GroupKind[]> {
  return await withJournal(flags, async ({ ownKinds }) => await Promise.resolve(ownKinds))
}

async function ofCluster(
  flags: DoctorFlags,
  config: Config,
  { namespace, followed }: { readonly namespace: string; readonly followed: readonly GroupKind[] | undefined },
): Promise<readonly Finding[]> {
  try {
    const kube = await openUserClient(flags, config)
    try {
      return await clusterFindings(kube, namespace, followed)
    } finally {
      await kube.close()
    }
  } catch (error) {
    return [{ part: 'kubernetes', verdict: 'bad', text: error instanceof Error ? error.message : String(error) }]
  }
}

async function ofTemporal(
  flags: DoctorFlags,
  config: Config,
  given: Readonly<Record<string, string>>,
): Promise<readonly Finding[]> {
  const address = flags.temporalAddress ?? config.temporalAddress ?? (await devAddress(flags, config))
  if (address === undefined)
    return [{ part: 'temporal', verdict: 'skipped', text: `the address is unknown; ${TEMPORAL_HINT}` }]
  try {
    const target = temporalTarget(address, readFlags(TEMPORAL_FLAGS, given), config)
    const { temporalFindings } = await import('./doctor/temporal.ts')
    return await temporalFindings(target)
  } catch (error) {
    if (error instanceof UsageError) throw error
    return [{ part: 'temporal', verdict: 'bad', text: error instanceof Error ? error.message : String(error) }]
  }
}
