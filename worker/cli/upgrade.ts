// The command `pawl upgrade check`: reports before an upgrade which differences the new version has. It writes only to
// the copy of the journal that --journal-copy names.

import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Command } from 'commander'

import { readConfig } from '../server/config.ts'
import { UsageError } from '../server/usage-error.ts'
import { type Finding, findingsText } from './doctor/findings.ts'
import { foldFlags, LOCATION_FLAGS, TEMPORAL_DETAILS } from './options.ts'
import { ansiPaint, plainPaint } from './query/format.ts'
import { addJournalFlags, findJournal, type JournalFlags } from './query/open-journal.ts'
import { exitCodeOf } from './upgrade/exit-code.ts'
import { findTemporal, type TemporalAddressFlags, withTemporalFlags } from './temporal-address.ts'
import { joined, parseOneOf } from './usage.ts'
import { openUserClient } from './user.ts'

interface CheckFlags extends JournalFlags, TemporalAddressFlags {
  readonly against: string
  readonly againstControllers?: string
  readonly controllers?: string
  readonly since: string
  readonly allNamespaces?: boolean
  readonly manifests?: string
  readonly journalCopy?: string
  readonly payloadKey?: string
  readonly timeout: string
  readonly output: (typeof FORMATS)[number]
}

const FORMATS = ['text', 'json'] as const

const EXAMPLE = `
Examples:
  pawl upgrade check --against ../pawl-next/node_modules/pawl -A
  pawl upgrade check --against ../pawl-next/node_modules/pawl -A --controllers shop.ts \\
    --manifests rbac.yaml --journal-copy postgres://pawl@db/copy

Exit code 0: no check found a difference, 3: a check found a difference, 4: no difference, but a check was skipped or
some jobs were not compared.`

export function upgradeCommand(): Command {
  const bare = new Command('check')
    .description('compare a new version: migrations, open runs, past decisions, roles, and fields of CRDs')
    .requiredOption('--against <folder>', 'the new version: its checkout, or node_modules/pawl of its package')
    .option('--since <duration>', 'replay the jobs that started in this time before now', '7d')
    .option('-A, --all-namespaces', 'replay the jobs of all namespaces')
    .option(
      '--manifests <files>',
      'further CRDs and roles of the new version, such as the output of pawl gen rbac',
      joined,
    )
    .option(
      '--journal-copy <url>',
      'database with a restored backup, never the journal: migrates it to measure the duration',
    )
    .option('--controllers <files>', 'modules of controllers in level mode, as the worker has them', joined)
    .option(
      '--against-controllers <files>',
      'controller modules of the new version (default: the value of --controllers)',
      joined,
    )
    .option('--timeout <duration>', 'time limit of the replay of each run, such as 5m', '60s')
    .option('--payload-key <file>', 'keys that encrypt payloads (default: $PAWL_PAYLOAD_KEY)')
    .option('-o, --output <format>', FORMATS.join(', '), parseOneOf(FORMATS), 'text')
  const check = withTemporalFlags(addJournalFlags(bare))
  foldFlags(check, [...['against-controllers', 'payload-key'], ...LOCATION_FLAGS, ...TEMPORAL_DETAILS])
  check.addHelpText('after', EXAMPLE).action(async (flags: CheckFlags) => {
    const findings = await examine(flags, check)
    const isColoured = process.stdout.isTTY && process.stdout.hasColors()
    process.stdout.write(
      flags.output === 'json'
        ? `${JSON.stringify(findings, null, 2)}\n`
        : findingsText(findings, isColoured ? ansiPaint : plainPaint),
    )
    process.exitCode = exitCodeOf(findings)
  })
  return new Command('upgrade').description('prepare an upgrade').addCommand(check)
}

/** @throws UsageError */
async function examine(flags: CheckFlags, command: Command): Promise<readonly Finding[]> {
  const build = resolve(flags.against)
  for (const part of ['deploy/crds', 'deploy/rbac', 'migrations'])
    if (!existsSync(join(build, part)))
      throw new UsageError(
        `--against: "${flags.against}" has no ${part}; expected a checkout of Pawl or node_modules/pawl of its package`,
      )
  const config = readConfig()
  const [{ migrationFinding }, { manifestFindings }, { replayFindings }, { durationMs }] = await Promise.all([
    import('./upgrade/migrations.ts'),
    import('./upgrade/manifests.ts'),
    import('./upgrade/replay-findings.ts'),
    import('./journal.ts'),
  ])
  const limitMs = durationMs('--timeout', flags.timeout)
  const location = await findJournal(flags, config)
  const ofJournal: Finding =
    'url' in location
      ? await migrationFinding(build, location.url, flags.journalCopy)
      : {
          part: 'migrations',
          verdict: 'skipped',
          text: 'pawl api does not return migrations; pass --database-url',
        }
  const kube = await openUserClient(flags, config)
  try {
    const files = flags.manifests?.split(',') ?? []
    const ofCluster = await manifestFindings(kube, build, files)
    const target = await findTemporal(flags, config, command)
    const { compareWithBuild } = await import('./replay/upgrade-gate.ts')
    const result = await compareWithBuild({ ...flags, limitMs }, flags.payloadKey ?? config.payloadKeyPath, target)
    return [ofJournal, ...ofCluster, ...replayFindings(result, flags)]
  } finally {
    await kube.close()
  }
}
