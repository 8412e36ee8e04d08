// The wings of a process, and the flags of wings.

import { WINGS as WING_DEFINITIONS } from '../../workflows/wings.gen.ts'
import type { MetricTable, Wing } from '../../workflows/kit/index.ts'
import { type FlagTable, type FlagValues, type GivenFlags, joinFlagTables, readFlags } from './flags.ts'
import { SWITCH_FLAGS, WINGS } from './registry.ts'
import { UsageError } from './usage-error.ts'

/** All flags of wings for the worker, enabled or not. */
export const WING_FLAGS: FlagTable = joinFlagTables(...Object.values(WING_DEFINITIONS).map(({ flags }) => flags))

/** The flags of wings that `pawl dev` has, too. */
export const DEV_WING_FLAGS: FlagTable = Object.fromEntries(
  Object.entries(WING_FLAGS).filter(([, flag]) => flag.inDev !== undefined),
)

/** The flags of wings that the webhook has, too (`inWebhook`), by wing. */
export const WEBHOOK_WINGS: Readonly<Record<string, { readonly flags: FlagTable }>> = Object.fromEntries(
  Object.entries<Pick<Wing, 'flags'>>(WING_DEFINITIONS).map(([wing, { flags }]) => {
    const asked = Object.entries(flags).filter(([, flag]) => flag.inWebhook !== undefined)
    return [wing, { flags: Object.fromEntries(asked) }]
  }),
)

/** The same flags of all wings in one table. */
export const WEBHOOK_WING_FLAGS: FlagTable = joinFlagTables(...Object.values(WEBHOOK_WINGS).map(({ flags }) => flags))

/** The wings that are on without `--wings`, for its help text. */
export const DEFAULT_WINGS_TEXT: string = WINGS.filter((wing) => isDefaultWing(wing, WING_DEFINITIONS)).join(', ')

/** For processes that run controllers of users alone. */
const NONE = 'none'

type WingDefinitions = Readonly<Record<string, Pick<Wing, 'onlyWhenNamed'>>>

/**
 * The enabled wings in the order of the flag; without the flag, all that need not be named; none for `none`.
 *
 * @throws UsageError with the actual and the expected value if a name is unknown or repeated.
 */
export function enabledWings(
  text: string | undefined,
  known: readonly string[] = WINGS,
  definitions: WingDefinitions = WING_DEFINITIONS,
): readonly string[] {
  if (text === undefined) return known.filter((wing) => isDefaultWing(wing, definitions))
  if (text.trim() === NONE) return []
  const names = text.split(',').map((name) => name.trim())
  const unknown = names.find((name) => !known.includes(name))
  if (unknown !== undefined)
    throw new UsageError(`--wings: found "${unknown}"; expected wings of ${known.join(', ')}, or none`)
  const twice = names.find((name, index) => names.indexOf(name) < index)
  if (twice !== undefined) throw new UsageError(`--wings: found "${twice}" twice; expected each wing once`)
  return names
}

/** Whether a wing is missing that is enabled by default. */
export function lacksDefaultWing(
  wings: readonly string[],
  known: readonly string[] = WINGS,
  definitions: WingDefinitions = WING_DEFINITIONS,
): boolean {
  return enabledWings(undefined, known, definitions).some((wing) => !wings.includes(wing))
}

function isDefaultWing(wing: string, definitions: WingDefinitions): boolean {
  return !Object.hasOwn(definitions, wing) || definitions[wing]?.onlyWhenNamed === undefined
}

/**
 * The values of the wings' flags, by wing.
 *
 * @throws UsageError with the name of the flag, the actual value and the expected value; also for a flag of a wing that is not enabled.
 */
export function readWingFlags(
  on: readonly string[],
  given: GivenFlags,
  wings: Readonly<Record<string, { readonly flags: FlagTable }>> = WING_DEFINITIONS,
): ReadonlyMap<string, FlagValues<FlagTable>> {
  for (const [wing, { flags }] of Object.entries(wings)) {
    const unusedFlag = on.includes(wing) ? undefined : Object.keys(flags).find((flag) => given[flag] !== undefined)
    if (unusedFlag !== undefined)
      throw new UsageError(
        `--${unusedFlag}: the flag belongs to wing ${wing}, which is off; add ${wing} to --wings, or remove the flag`,
      )
  }
  return new Map(on.map((wing) => [wing, readFlags(wings[wing]?.flags ?? {}, given)]))
}

/**
 * The wing flags that `pawl dev` passes to its processes.
 *
 * @param apiServer the URL of its API server, and whether `pawl dev` runs it. @param given the flags of `pawl dev` itself.
 */
export function devWingFlags(
  on: readonly string[],
  { url: apiServer, isOurs }: { readonly url: string; readonly isOurs: boolean },
  given: GivenFlags,
): Readonly<Record<'worker' | 'bridge' | 'webhook', readonly string[]>> {
  const flags = joinFlagTables(...on.map((wing) => WING_BY_NAME.get(wing)?.flags ?? {}))
  const { hostname, port, protocol } = new URL(apiServer)
  const defaultPort = protocol === 'http:' ? '80' : '443'
  const address = `${hostname}:${port === '' ? defaultPort : port}`
  const all = Object.entries(flags).flatMap(([name, { inDev }]) => {
    if (inDev === undefined) return []
    const own = inDev === 'own-server' && isOurs ? 'yes' : undefined
    const values = [
      ...(inDev === 'api-server' ? [address] : []),
      ...[given[name] ?? own].flatMap((value) => value ?? []),
    ]
    return values.length === 0 ? [] : [{ name, text: `--${name}=${values.join(',')}` }]
  })
  const bridgeFlags = all.filter(({ name }) => Object.hasOwn(SWITCH_FLAGS, name))
  const webhookFlags = all.filter(({ name }) => Object.hasOwn(WEBHOOK_WING_FLAGS, name))
  const texts = (some: readonly { readonly text: string }[]) => some.map(({ text }) => text)
  return { worker: texts(all), bridge: texts(bridgeFlags), webhook: texts(webhookFlags) }
}

/** The metrics of these wings. */
export function metricsOf(wings: readonly string[]): readonly MetricTable[] {
  return wings.flatMap((wing) => {
    const declared = WING_BY_NAME.get(wing)?.metrics
    return declared === undefined ? [] : [declared]
  })
}

const WING_BY_NAME: ReadonlyMap<string, Pick<Wing, 'flags' | 'metrics'>> = new Map<
  string,
  Pick<Wing, 'flags' | 'metrics'>
>(Object.entries(WING_DEFINITIONS))
