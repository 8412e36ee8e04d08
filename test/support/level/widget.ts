// A kind and two small controllers in level mode, for tests on real servers. Both controllers write keys of the same
// ConfigMap and fields of the same status.

import {
  action,
  activitiesOf,
  again,
  always,
  conditionsField,
  defineKind,
  defineLevel,
  done,
  integer,
  type LevelPass,
  type ObjectOf,
  path,
  record,
  reportFaults,
  required,
  sequential,
  type StateQuery,
  stop,
  text,
  timeout,
  when,
} from 'pawl/kit'
import type { ConfigMap } from 'pawl/kit/v1'

import { TEST_KIND } from './test-kind.ts'

export const widgetKind = defineKind({
  ...TEST_KIND,
  group: 'level.test.pawl.dev',
  kind: 'Widget',
  plural: 'widgets',
  singular: 'widget',
  schema: {
    spec: required(
      record('What is wanted.', {
        message: required(text('What the ConfigMap says.')),
        settings: text('Name of a ConfigMap that somebody else makes.'),
        rounds: integer('How many passes to wait for, some milliseconds apart.'),
        prices: text('URL of a program that knows the price.'),
        slowPrices: text('URL of one that takes its time.'),
      }),
    ),
    status: record('What is there.', {
      message: text('What the ConfigMap says.'),
      color: text('What the settings say.'),
      rounds: integer('Passes made.'),
      colors: integer('How many ConfigMaps have the label.'),
      stamp: text('What the second controller says.'),
      price: text('What the program said.'),
      conditions: conditionsField,
    }),
  },
  projection: [path('status.message')],
})

export type Widget = ObjectOf<typeof widgetKind>

interface WidgetState {
  readonly configMap: ConfigMap | undefined
  readonly settings: ConfigMap | undefined
  readonly labelled: readonly ConfigMap[]
}

const widgetQueries = {
  configMap: { kind: 'v1/ConfigMap', name: '${target.metadata.name}', owned: true },
  settings: { kind: 'v1/ConfigMap', name: '${target.spec.settings}' },
  labelled: { kind: 'v1/ConfigMap', many: true, labels: { widget: '${target.metadata.name}' } },
} as const satisfies Record<keyof WidgetState, StateQuery>

type Pass = LevelPass<WidgetState, Widget>

const applyMessage = action<Pass>('applyMessage', async ({ target, state, act, status }) => {
  const { message } = target.spec
  await act.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: target.metadata.name }, data: { message } })
  status['message'] = message
  status['colors'] = state.labelled.length
  return done
})

const readSettings = action<Pass>('readSettings', ({ target, state, status }) => {
  if (target.spec.settings === undefined) return done
  status['color'] = state.settings?.data?.['color'] ?? null
  return state.settings === undefined ? stop(`waiting for ConfigMap ${target.spec.settings}`) : done
})

const countRounds = action<Pass>('countRounds', ({ target, status }) => {
  const [made, wanted] = [target.status?.rounds ?? 0, target.spec.rounds ?? 0]
  if (made >= wanted) return done
  status['rounds'] = made + 1
  return again(200)
})

const prices = activitiesOf(() => import('./widget.activities.ts'), {
  fetchPrice: { timeoutMs: 5000, attempts: 2, retryMs: 50 },
  waitForPrice: { timeoutMs: 60_000, heartbeatMs: 1000 },
})

const askForPrice = action<Pass>('askForPrice', async ({ target, call, status, log }) => {
  const { price } = await call(prices).fetchPrice({ url: target.spec.prices ?? '' })
  status['price'] = price
  log.info('the price is known', { price })
  return done
})

const waitForPrice = action<Pass>('waitForPrice', async ({ target, call, status }) => {
  status['price'] = await call(prices).waitForPrice({ url: target.spec.slowPrices ?? '' })
  return done
})

const hasPrices = ({ target }: Pass) => target.spec.prices !== undefined
const hasSlowPrices = ({ target }: Pass) => target.spec.slowPrices !== undefined

const removeMessage = action<Pass>('removeMessage', async ({ state, act }) => {
  if (state.configMap === undefined) return done
  await act.remove(state.configMap)
  return stop('waiting for the ConfigMap to be gone')
})

/** Reads no state: it applies the ConfigMap in every pass. `act.apply` writes nothing if nothing changes. */
const applyStamp = action<LevelPass<{ readonly own: ConfigMap | undefined }, Widget>>(
  'applyStamp',
  async ({ target, act, status }) => {
    const metadata = { name: target.metadata.name, labels: { stamped: 'yes' } }
    await act.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { stamp: target.metadata.name } })
    status['stamp'] = target.metadata.name
    return done
  },
)

export const controllers = [
  defineLevel<WidgetState, Widget>({
    name: 'widget',
    target: widgetKind,
    queries: widgetQueries,
    finalizer: 'level.test.pawl.dev/message',
    activities: prices,
    plan: always(
      sequential(
        applyMessage,
        readSettings,
        countRounds,
        when(hasPrices, askForPrice),
        when(hasSlowPrices, timeout(1000, waitForPrice)),
      ),
      reportFaults({ type: 'Ready' }),
    ),
    onDelete: removeMessage,
  }),
  defineLevel<{ readonly own: ConfigMap | undefined }, Widget>({
    name: 'stamper',
    target: widgetKind,
    queries: { own: { kind: 'v1/ConfigMap', name: '${target.metadata.name}', owned: true } },
    plan: sequential(applyStamp),
  }),
]
