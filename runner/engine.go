package runner

import (
	"context"
	"io"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/client"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// engine is what the runner uses of Docker's client.
type engine interface {
	containers
	execs
	networks
	host
}

type containers interface {
	ContainerCreate(context.Context, *container.Config, *container.HostConfig, *network.NetworkingConfig, *ocispec.Platform, string) (container.CreateResponse, error)
	ContainerStart(context.Context, string, container.StartOptions) error
	ContainerInspect(context.Context, string) (container.InspectResponse, error)
	ContainerList(context.Context, container.ListOptions) ([]container.Summary, error)
	ContainerStop(context.Context, string, container.StopOptions) error
	ContainerKill(ctx context.Context, id, signal string) error
	ContainerRemove(context.Context, string, container.RemoveOptions) error
	CopyFromContainer(ctx context.Context, id, path string) (io.ReadCloser, container.PathStat, error)
}

type execs interface {
	ContainerExecCreate(context.Context, string, container.ExecOptions) (container.ExecCreateResponse, error)
	ContainerExecAttach(context.Context, string, container.ExecAttachOptions) (types.HijackedResponse, error)
	ContainerExecInspect(context.Context, string) (container.ExecInspect, error)
	ContainerExecResize(context.Context, string, container.ResizeOptions) error
}

type networks interface {
	NetworkCreate(context.Context, string, network.CreateOptions) (network.CreateResponse, error)
	NetworkInspect(context.Context, string, network.InspectOptions) (network.Inspect, error)
	NetworkList(context.Context, network.ListOptions) ([]network.Summary, error)
	NetworkRemove(context.Context, string) error
}

type host interface {
	Ping(context.Context) (types.Ping, error)
	Info(context.Context) (system.Info, error)
	ServerVersion(context.Context) (types.Version, error)
	ImageInspect(context.Context, string, ...client.ImageInspectOption) (image.InspectResponse, error)
	DaemonHost() string
	Close() error
}
