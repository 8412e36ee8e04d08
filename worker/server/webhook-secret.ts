/** The default name of the Secret with the webhook's certificates; the webhook's roles name it. */
export const DEFAULT_SECRET = 'pawl-webhook-certificates'
