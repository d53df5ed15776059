# The operator's image, for who has Docker: docker build --build-arg VERSION=v0.1.0 --build-arg COMMIT=$(git rev-parse HEAD) -t registry.example/genericjob/manager:v0.1.0 .
# `make image` makes one without. The binary is the same, for it is the same command; the image's digest is not.
# The Go of releases, as .go-version says. A tag can be moved: who publishes what is built here looks up its digest, by
#   docker buildx imagetools inspect golang:1.26.8
# and builds from golang:1.26.8@sha256:..., as the first line of that says. The image of Go is not in the result, but it makes it.
FROM --platform=$BUILDPLATFORM golang:1.26.8 AS build
ARG TARGETARCH
ARG VERSION=dev
# Its hash: metrics tell it.
ARG COMMIT=
WORKDIR /source
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN make --silent manager VERSION=$VERSION COMMIT=$COMMIT ARCH=$TARGETARCH MANAGER=/manager

FROM scratch
COPY --from=build /manager /manager
COPY --from=build /manager-wrapper /wrapper
USER 65532:65532
ENTRYPOINT ["/manager"]
