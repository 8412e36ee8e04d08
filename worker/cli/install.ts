// The command `pawl install --dry-run`: prints the objects of the Helm chart, for users without Helm. It reads only the
// files of the package, and connects to no server.

import { Command, InvalidArgumentError } from 'commander'

import { UsageError } from '../server/usage-error.ts'
import { parseOneOf } from './usage.ts'

const FORMATS = ['yaml', 'json'] as const

interface InstallFlags {
  readonly dryRun?: true
  readonly output: (typeof FORMATS)[number]
  readonly namespace: string
  readonly name: string
  readonly values: readonly string[]
  readonly set: readonly string[]
  readonly crds: boolean
}

const EXAMPLES = `
Examples:
  pawl install --dry-run -n pawl --set 'wings={landscaper,chaos}' | kubectl apply --server-side -f -
  pawl install --dry-run -f values.yaml --no-crds`

export function installCommand(): Command {
  return new Command('install')
    .summary('print the manifests of Pawl, for users without Helm')
    .description('print the objects of the Helm chart and the CRDs of the enabled wings, for users without Helm')
    .option('--dry-run', 'print the objects; required, because the command does not change the cluster')
    .option('-o, --output <format>', FORMATS.join(', '), parseOneOf(FORMATS), 'yaml')
    .option('-n, --namespace <name>', 'the namespace of the processes, which you create', nameOf(63), 'pawl')
    .option('--name <name>', 'the name of the release', nameOf(53), 'pawl')
    .option('-f, --values <file>', 'file with values of deploy/chart/values.schema.json; repeatable', collect, [])
    .option('--set <key=value>', 'a value, with the syntax of Helm; repeatable', collect, [])
    .option('--no-crds', 'omit the CRDs')
    .addHelpText('after', EXAMPLES)
    .action(async (flags: InstallFlags) => {
      process.stdout.write(await manifestsText(flags))
    })
}

async function manifestsText({ dryRun, output, namespace, name, values, set, crds }: InstallFlags): Promise<string> {
  if (dryRun !== true)
    throw new UsageError(
      'pawl install: --dry-run is missing; add it, and pipe the output into "kubectl apply --server-side -f -"',
    )
  const { chartValues } = await import('./install/chart-values.ts')
  const { crdsOf, renderChart } = await import('./install/render-chart.ts')
  const merged = await chartValues({ files: values, sets: set })
  // The schema has accepted the values.
  const { wings } = merged as { readonly wings: readonly string[] }
  const objects = [...(crds ? await crdsOf(wings) : []), ...(await renderChart({ name, namespace }, merged))]
  if (output === 'json') return `${JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }, null, 2)}\n`
  const { writeYaml } = await import('../../activities/yaml/write-yaml.ts')
  return objects.map((one) => `---\n${writeYaml(one)}`).join('')
}

function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value]
}

/** Parser of a DNS label with at most `length` characters. */
function nameOf(length: number): (text: string) => string {
  return (text) => {
    if (/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(text) && text.length <= length) return text
    throw new InvalidArgumentError(`found "${text}"; expected at most ${length} lower-case letters, digits and hyphens`)
  }
}
