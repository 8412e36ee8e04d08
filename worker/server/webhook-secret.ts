/** The name of the Secret with the webhook's certificates, unless its flag says another one; the webhook's roles name it. */
export const DEFAULT_SECRET = 'pawl-webhook-certificates'
