// Which wings a process serves, and the flags that they bring. The wings are those of the registry.

import { WINGS as SAYING } from '../../workflows/wings.gen.ts'
import type { MetricTable, Wing } from '../../workflows/kit/index.ts'
import { type FlagTable, type FlagValues, type GivenFlags, joinTables, readFlags } from './flags.ts'
import { SWITCH_FLAGS, WINGS } from './registry.ts'
import { UsageError } from './usage-error.ts'

/** The flags of the worker that belong to wings, whether they are on or not. */
export const WING_FLAGS: FlagTable = joinTables(...Object.values(SAYING).map(({ flags }) => flags))

/** Those of them that `pawl dev` has as well. */
export const DEV_WING_FLAGS: FlagTable = Object.fromEntries(
  Object.entries(WING_FLAGS).filter(([, flag]) => flag.inDev !== undefined),
)

/** What the wings say of flags that the webhook has as well (`inWebhook`). */
export const WEBHOOK_WINGS: Readonly<Record<string, { readonly flags: FlagTable }>> = Object.fromEntries(
  Object.entries<Pick<Wing, 'flags'>>(SAYING).map(([wing, { flags }]) => {
    const asked = Object.entries(flags).filter(([, flag]) => flag.inWebhook !== undefined)
    return [wing, { flags: Object.fromEntries(asked) }]
  }),
)

/** Those flags, of all wings. */
export const WEBHOOK_WING_FLAGS: FlagTable = joinTables(...Object.values(WEBHOOK_WINGS).map(({ flags }) => flags))

/** For processes that run controllers of users alone. */
const NONE = 'none'

type Saying = Readonly<Record<string, Pick<Wing, 'onlyWhenNamed'>>>

/**
 * The wings that are on, in the order in which they are named; without the flag all but those that have to be named, and none for `none`.
 *
 * @throws UsageError with what was found and what was expected when a name is no wing, or is there twice.
 */
export function wingsOn(
  text: string | undefined,
  known: readonly string[] = WINGS,
  saying: Saying = SAYING,
): readonly string[] {
  if (text === undefined) return known.filter((wing) => isUsual(wing, saying))
  if (text.trim() === NONE) return []
  const names = text.split(',').map((name) => name.trim())
  const unknown = names.find((name) => !known.includes(name))
  if (unknown !== undefined)
    throw new UsageError(`--wings names "${unknown}"; expected wings of ${known.join(', ')}, or none`)
  const twice = names.find((name, index) => names.indexOf(name) < index)
  if (twice !== undefined) throw new UsageError(`--wings names "${twice}" twice; expected each wing once`)
  return names
}

/** Whether these lack a wing that is on where none is named. */
export function isPartOfWings(
  wings: readonly string[],
  known: readonly string[] = WINGS,
  saying: Saying = SAYING,
): boolean {
  return wingsOn(undefined, known, saying).some((wing) => !wings.includes(wing))
}

function isUsual(wing: string, saying: Saying): boolean {
  return !Object.hasOwn(saying, wing) || saying[wing]?.onlyWhenNamed === undefined
}

/**
 * The values of the wings' flags, by wing.
 *
 * @throws UsageError with the name of the flag, what was found and what was expected; also for a flag of a wing that is off.
 */
export function readWingFlags(
  on: readonly string[],
  given: GivenFlags,
  wings: Readonly<Record<string, { readonly flags: FlagTable }>> = SAYING,
): ReadonlyMap<string, FlagValues<FlagTable>> {
  for (const [wing, { flags }] of Object.entries(wings)) {
    const idle = on.includes(wing) ? undefined : Object.keys(flags).find((flag) => given[flag] !== undefined)
    if (idle !== undefined)
      throw new UsageError(`--${idle} is given, but wing ${wing}, whose flag it is, is off; expected it in --wings`)
  }
  return new Map(on.map((wing) => [wing, readFlags(wings[wing]?.flags ?? {}, given)]))
}

/**
 * What the processes of `pawl dev` are given of the flags of the wings that are on.
 *
 * @param apiServer the URL of its API server, and whether it is its own. @param given to `pawl dev` itself.
 */
export function devWingFlags(
  on: readonly string[],
  { url: apiServer, isOurs }: { readonly url: string; readonly isOurs: boolean },
  given: GivenFlags,
): Readonly<Record<'worker' | 'bridge' | 'webhook', readonly string[]>> {
  const flags = joinTables(...on.map((wing) => SAYING_OF.get(wing)?.flags ?? {}))
  const { hostname, port, protocol } = new URL(apiServer)
  const ours = `${hostname}:${port === '' ? (protocol === 'http:' ? 80 : 443) : port}`
  const all = Object.entries(flags).flatMap(([name, { inDev }]) => {
    if (inDev === undefined) return []
    const own = inDev === 'own-server' && isOurs ? 'yes' : undefined
    const values = [...(inDev === 'api-server' ? [ours] : []), ...[given[name] ?? own].flatMap((value) => value ?? [])]
    return values.length === 0 ? [] : [{ name, text: `--${name}=${values.join(',')}` }]
  })
  const ofBridge = all.filter(({ name }) => Object.hasOwn(SWITCH_FLAGS, name))
  const ofWebhook = all.filter(({ name }) => Object.hasOwn(WEBHOOK_WING_FLAGS, name))
  const texts = (some: readonly { readonly text: string }[]) => some.map(({ text }) => text)
  return { worker: texts(all), bridge: texts(ofBridge), webhook: texts(ofWebhook) }
}

/** The metrics that these wings declare. */
export function metricsOf(wings: readonly string[]): readonly MetricTable[] {
  return wings.flatMap((wing) => {
    const declared = SAYING_OF.get(wing)?.metrics
    return declared === undefined ? [] : [declared]
  })
}

const SAYING_OF: ReadonlyMap<string, Pick<Wing, 'flags' | 'metrics'>> = new Map<
  string,
  Pick<Wing, 'flags' | 'metrics'>
>(Object.entries(SAYING))
