// The modules of controllers' own activities, loaded by the worker alone: what they need of packages is nothing that the bridge has to have.

import type { OwnFunctions } from '../../activities/index.ts'
import type { LevelController } from '../../workflows/kit/index.ts'

/**
 * The modules of the controllers that have activities, by the controller's name.
 *
 * @throws with the controller, what was found and what was expected: a module that cannot be loaded, or does not export what is declared.
 */
export async function loadOwnActivities(
  controllers: readonly LevelController[],
): Promise<ReadonlyMap<string, OwnFunctions>> {
  const loaded = controllers.flatMap(({ name, activities }) =>
    activities === undefined ? [] : [load(name, activities).then((module) => [name, module] as const)],
  )
  return new Map(await Promise.all(loaded))
}

async function load(
  controller: string,
  { load: importModule, options }: NonNullable<LevelController['activities']>,
): Promise<OwnFunctions> {
  const module = await importModule().catch((cause: unknown) => {
    const message = cause instanceof Error ? cause.message : String(cause)
    throw new Error(`the activities of controller ${controller} cannot be loaded: ${message}`, { cause })
  })
  const exported = new Map<string, unknown>(Object.entries(module))
  const missing = Object.keys(options).filter((name) => typeof exported.get(name) !== 'function')
  const others = [...exported].filter(([name, value]) => isAsync(value) && !Object.hasOwn(options, name))
  if (missing.length === 0 && others.length === 0) return module as OwnFunctions
  const found = [
    ...missing.map((name) => `${name} is declared and not exported`),
    ...others.map(([name]) => `${name} is exported and not declared`),
  ]
  throw new Error(`the activities of controller ${controller}: ${found.join(', ')}; expected activitiesOf to name each`)
}

/** Of others nobody knows whether they return promises. */
function isAsync(value: unknown): boolean {
  return typeof value === 'function' && value.constructor.name === 'AsyncFunction'
}
