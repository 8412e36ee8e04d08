// The commands `pawl plan show` and `pawl plan list`: what the controllers do, drawn from the plans that they run. Asks no server.
// Source: seeds/ctrlkit-rfc.txt "Future possibilities".

import { Command } from 'commander'

import { controllerFiles, loadRegistry } from '../server/registry.ts'
import { drawPlan, listPlans, PLAN_FORMATS, type PlanFormat } from '../plans/draw-plan.ts'
import { findPlans, type PlannedKind, planNamed } from '../plans/find-plans.ts'
import { drawTrace } from '../plans/draw-trace.ts'
import { UsageError } from '../server/usage-error.ts'
import { joined, parseOneOf } from './usage.ts'

interface PlanFlags {
  readonly controllers?: string
}

const CONTROLLERS = ['--controllers <files>', 'modules of controllers in level mode, separated by commas'] as const

export function planCommand(): Command {
  return new Command('plan')
    .description('draw what the controllers do')
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
        .action(async (name: string | undefined, { format, trace, ...flags }: ShowFlags) => {
          process.stdout.write(await drawn(name, trace, { format, flags }))
        }),
    )
    .addCommand(
      new Command('list')
        .description('name the kinds that have a plan')
        .option(...CONTROLLERS, joined)
        .action(async (flags: PlanFlags) => {
          process.stdout.write(listPlans(await allPlans(flags)))
        }),
    )
}

interface ShowFlags extends PlanFlags {
  readonly format: PlanFormat
  readonly trace?: string
}

async function drawn(
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
