// The commands `pawl plan show` and `pawl plan list`, which draw the plans of controllers without a server, and `pawl
// plan -f`, which runs these plans for manifests as a dry run (plan/).
// Source: seeds/ctrlkit-rfc.txt "Future possibilities".

import { Command } from 'commander'

import { controllerFiles, loadRegistry } from '../server/registry.ts'
import { drawPlan, listPlans, PLAN_FORMATS, type PlanFormat } from '../plans/draw-plan.ts'
import { findPlans, type PlannedKind, planNamed } from '../plans/find-plans.ts'
import { drawTrace } from '../plans/draw-trace.ts'
import { UsageError } from '../server/usage-error.ts'
import { addJournalFlags } from './query/open-journal.ts'
import type { PlanFilesFlags } from './plan/plan-files.ts'
import { joined, parseOneOf } from './usage.ts'

interface PlanFlags {
  readonly controllers?: string
}

type FilesFlags = Omit<PlanFilesFlags, 'filename'> & { readonly filename?: string }

const FORMATS = ['text', 'json', 'yaml'] as const

const EXAMPLES = `
Examples:
  pawl plan -f shop.yaml            what applying it would do: exit code 0 nothing, 3 something
  helm template . | pawl plan -f -  of manifests from another program
  pawl plan show installation       what the controller of Installations does`

const CONTROLLERS = ['--controllers <files>', 'modules of controllers in level mode, separated by commas'] as const

export function planCommand(): Command {
  const command = new Command('plan')
    .description('tell what applying manifests would do (-f), or draw what the controllers do (show, list)')
    .option('-f, --filename <files>', 'manifests, separated by commas, or - for stdin: nothing is written', joined)
    .option('-o, --output <format>', FORMATS.join(', '), parseOneOf(FORMATS), 'text')
    .option('--target-allow <servers>', 'where Targets and registries may lead, as of the worker', joined)
    .option('--registry-local <folder>', 'where components of repositories of type local lie, as of the worker')
  return addJournalFlags(command)
    .addHelpText('after', EXAMPLES)
    .action(async ({ filename, ...flags }: FilesFlags) => {
      if (filename === undefined) throw new UsageError('found no -f FILE and no command, expected -f, show or list')
      const { planFiles } = await import('./plan/plan-files.ts')
      await planFiles({ ...flags, filename: filename.split(',') })
    })
    .addCommand(
      new Command('show')
        .description('draw the plan of a kind, phase by phase')
        .argument(
          '[kind]',
          'any name of it, such as Installation, inst or widgets.example.com, or the name of its controller',
        )
        .option('--format <format>', PLAN_FORMATS.join(', '), parseOneOf(PLAN_FORMATS), 'text')
        .option(...CONTROLLERS, joined)
        .option('--trace <file>', 'in place of a kind: which steps ran in a pass that a test has recorded')
        .addHelpText('after', '\nExamples:\n  pawl plan show inst\n  pawl plan show exec --format mermaid')
        .action(async (name: string | undefined, { format, trace, ...flags }: ShowFlags) => {
          process.stdout.write(await drawPlanOrTrace(name, trace, { format, flags }))
        }),
    )
    .addCommand(
      new Command('list')
        .description('name the kinds that have a plan')
        .option(...CONTROLLERS, joined)
        .addHelpText('after', '\nExamples:\n  pawl plan list\n  pawl plan list --controllers shop.ts')
        .action(async (flags: PlanFlags) => {
          process.stdout.write(listPlans(await allPlans(flags)))
        }),
    )
}

interface ShowFlags extends PlanFlags {
  readonly format: PlanFormat
  readonly trace?: string
}

async function drawPlanOrTrace(
  name: string | undefined,
  trace: string | undefined,
  { format, flags }: { readonly format: PlanFormat; readonly flags: PlanFlags },
): Promise<string> {
  if (trace !== undefined && name === undefined) return await drawTrace(trace, format)
  if (name === undefined || trace !== undefined)
    throw new UsageError(`found ${name === undefined ? 'no kind' : 'a kind and --trace'}, expected a kind or --trace`)
  const plans = await allPlans(flags)
  return drawPlan(planNamed(plans, name), format, plans)
}

async function allPlans({ controllers }: PlanFlags): Promise<readonly PlannedKind[]> {
  return findPlans(await loadRegistry(controllerFiles(controllers), undefined, new Set()))
}
